/** Embeddings, of an upstream's model or of the embedded engine. */
import { setImmediate as turn } from "node:timers/promises"
import { AI_EMBEDDING_DIMENSIONS_DEFAULT, type areas, type Input } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Clock } from "../../kernel/clock.ts"
import { fault } from "../../kernel/fault.ts"
import { checkStatus, readJson } from "./answer.ts"
import { type Candidate, type Catalog, callable } from "./catalog.ts"
import { hashEmbedding } from "./engines/hash-embedding.ts"
import { type Gateway, organizationAsk } from "./gateway.ts"
import type { AiLedger } from "./ledger.ts"
import type { ModelCaller } from "./offers.ts"
import { costOf, inputTokensAtMost, type TokenUsage } from "./prices.ts"
import type { Flight, UpstreamClient } from "./upstream-client.ts"
import { readUsage } from "./usage.ts"

type Given = Input<typeof areas.ai.specs.embed>

const FIRST_BYTE_MS = 120_000
const EMBEDDED = /^svc-embed-hash-(\d{1,4})$/
export const EMBEDDED_EMBEDDING = `svc-embed-hash-${AI_EMBEDDING_DIMENSIONS_DEFAULT}`
const DIMENSIONS_MIN = 16
const DIMENSIONS_MAX = 4_096
/** Between two turns of the event loop, so that others are served meanwhile. */
export const CHARACTERS_AT_ONCE = 32_768

export interface EmbeddingNeeds {
  readonly gateway: Gateway
  readonly catalog: Catalog
  readonly ledger: AiLedger
  readonly client: UpstreamClient
  readonly clock: Clock
}

const textsOf = ({ input }: Given): string[] => {
  const texts = typeof input === "string" ? [input] : input
  if (!texts.every(text => typeof text === "string"))
    throw fault("invalid_parameter", { reason: "`input` must be a text or a list of texts for this model" })
  return texts
}

const encode = (vector: Float32Array, format: Given["encoding_format"]): string | number[] =>
  format === "base64"
    ? Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString("base64")
    : Array.from(vector)

/** The dimensions that are asked of the embedded engine; undefined where another model is meant. */
const embeddedDimensions = ({ model, dimensions }: Given): number | undefined => {
  if (model === undefined) return dimensions ?? AI_EMBEDDING_DIMENSIONS_DEFAULT
  const [, digits] = EMBEDDED.exec(model) ?? []
  return digits === undefined ? undefined : (dimensions ?? Number(digits))
}

/** A request that an embedded engine answers counts among those of the day, and costs nothing. */
export const countEmbeddedRequest = async (ledger: AiLedger, call: ModelCaller): Promise<void> => {
  const free = { isCharged: false, inputNanos: 0, leastNanos: 0, mostNanos: 0 }
  const reservation = await ledger.reserve({ ...organizationAsk(call), ...free })
  reservation.settle(0)
  call.meter("ai_requests", 1)
  call.setHeader("x-svc-provider", "embedded")
  call.setHeader("x-svc-attempts", "1")
  call.setHeader("x-svc-fallback", "false")
}

export const createEmbeddings = ({ gateway, catalog, ledger, client, clock }: EmbeddingNeeds) => {
  const embedHere = async (given: Given, dimensions: number, call: Call) => {
    if (dimensions < DIMENSIONS_MIN || dimensions > DIMENSIONS_MAX)
      throw fault("invalid_parameter", {
        reason: `\`dimensions\` is from ${DIMENSIONS_MIN} to ${DIMENSIONS_MAX} here`,
      })
    const texts = textsOf(given)
    await countEmbeddedRequest(ledger, call)
    const data: { object: "embedding"; index: number; embedding: string | number[] }[] = []
    let words = 0
    let characters = 0
    for (const [index, text] of texts.entries()) {
      const embedded = hashEmbedding(text, dimensions)
      words += embedded.words
      characters += text.length
      data.push({ object: "embedding", index, embedding: encode(embedded.vector, given.encoding_format) })
      if (characters < CHARACTERS_AT_ONCE) continue
      characters = 0
      await turn()
    }
    gateway.meterTokens(call, { inputTokens: words, outputTokens: 0, isEstimated: false })
    const usage = { prompt_tokens: words, total_tokens: words }
    return { object: "list", data, model: `svc-embed-hash-${dimensions}`, method: "embedded", usage }
  }

  const embedThere = async (given: Given, call: Call): Promise<Buffer> => {
    const inputTokens = inputTokensAtMost(given.input)
    const send = async (candidate: Candidate, flight: Flight) => {
      const body = JSON.stringify({ ...given, model: candidate.model.id })
      const answer = await client.send(
        candidate.upstream,
        { method: "POST", path: "/embeddings", body },
        flight,
      )
      await checkStatus(answer, flight, clock.now())
      const { bytes, value } = await readJson(answer, flight, "data", clock.now())
      flight.end()
      const usage: TokenUsage = readUsage(value.usage) ?? { inputTokens, outputTokens: 0, isEstimated: true }
      return { bytes, usage: { ...usage, outputTokens: 0 } }
    }
    const { result, candidate, reservation } = await gateway.infer(call, {
      kind: "embedding",
      models: [given.model],
      firstByteMs: FIRST_BYTE_MS,
      estimate(of) {
        const nanos = costOf(gateway.rates(of), inputTokens, 0)
        return { inputNanos: nanos, leastNanos: nanos, mostNanos: nanos }
      },
      send,
    })
    reservation.settle(gateway.costOf(candidate, result.usage))
    gateway.meterTokens(call, result.usage)
    call.setHeader("content-type", "application/json; charset=utf-8")
    return result.bytes
  }

  return async (given: Given, call: Call) => {
    const upstreams = await catalog.upstreamsOf(call.organization.id)
    const hasUpstream = callable(upstreams, "embedding", call.organization.plan).length > 0
    const dimensions = given.model === undefined && hasUpstream ? undefined : embeddedDimensions(given)
    return dimensions === undefined ? embedThere(given, call) : embedHere(given, dimensions, call)
  }
}
