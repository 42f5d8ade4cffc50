/** Chat completions, whole and streamed. */

import type { Readable } from "node:stream"
import type { areas, Input } from "@svc/contract"
import type { Clock } from "../../kernel/clock.ts"
import { every } from "../../kernel/every.ts"
import { checkStatus, readJson } from "./answer.ts"
import type { Candidate } from "./catalog.ts"
import { type ChatStream, openChatStream } from "./chat-stream.ts"
import type { Estimate, Gateway, Inferred } from "./gateway.ts"
import type { Health } from "./health.ts"
import type { Reservation } from "./ledger.ts"
import type { ModelCaller } from "./offers.ts"
import { costOf, estimateTokens, inputTokensAtMost, type TokenUsage } from "./prices.ts"
import type { Flight, UpstreamClient } from "./upstream-client.ts"
import { readUsage } from "./usage.ts"

type Given = Input<typeof areas.ai.specs.chat>

const FIRST_BYTE_MS = 120_000
const FIRST_WORDS_MS = 30_000
const KEEP_ALIVE_MS = 15_000
/** Assumed for a model that does not say how much it writes at most. */
const OUTPUT_TOKENS_DEFAULT = 16_384

interface Asked {
  readonly given: Given
  readonly isStreamed: boolean
  readonly wantsUsage: boolean
  readonly inputTokens: number
  readonly choices: number
  /** As the caller bounds it. */
  readonly outputTokensMax: number | undefined
}

type Answered =
  | { readonly isStreamed: true; readonly stream: ChatStream }
  | { readonly isStreamed: false; readonly bytes: Buffer; readonly usage: TokenUsage }

const readAsked = (given: Given, isStreamed: boolean): Asked => ({
  given,
  isStreamed,
  wantsUsage: given.stream_options?.include_usage === true,
  inputTokens: inputTokensAtMost(given),
  choices: given.n ?? 1,
  outputTokensMax: given.max_completion_tokens ?? given.max_tokens ?? undefined,
})

const outputTokensMax = ({ model }: Candidate, { inputTokens, outputTokensMax }: Asked): number => {
  if (outputTokensMax !== undefined) return outputTokensMax
  if (model.max_output_tokens !== undefined) return model.max_output_tokens
  const left = model.context_length === undefined ? OUTPUT_TOKENS_DEFAULT : model.context_length - inputTokens
  return Math.max(1, Math.min(left, OUTPUT_TOKENS_DEFAULT))
}

/** The older name is the one that servers other than OpenAI's know. */
const limitField = ({ given }: Asked, { upstream }: Candidate): "max_tokens" | "max_completion_tokens" => {
  if (given.max_completion_tokens != null) return "max_completion_tokens"
  if (given.max_tokens != null) return "max_tokens"
  return new URL(upstream.baseUrl).hostname === "api.openai.com" ? "max_completion_tokens" : "max_tokens"
}

export interface ChatNeeds {
  readonly gateway: Gateway
  readonly client: UpstreamClient
  readonly health: Health
  readonly clock: Clock
}

export const createChat = ({ gateway, client, health, clock }: ChatNeeds) => {
  const { rates } = gateway
  const live = new Set<ChatStream>()
  const ticker = every(clock, KEEP_ALIVE_MS, () => {
    for (const stream of live) stream.keepAlive()
  })

  const estimateOf =
    (asked: Asked) =>
    (candidate: Candidate): Estimate => {
      const { inputTokens, choices } = asked
      return {
        inputNanos: costOf(rates(candidate), inputTokens, 0),
        leastNanos: costOf(rates(candidate), inputTokens, choices),
        mostNanos: costOf(rates(candidate), inputTokens, outputTokensMax(candidate, asked) * choices),
      }
    }

  /** The bound on the output that keeps the request within what is reserved; none where nothing needs bounding. */
  const capOf = (asked: Asked, candidate: Candidate, { grantedNanos, isLimited }: Reservation) => {
    const { outputMicros } = rates(candidate)
    if (!isLimited || outputMicros === 0) return {}
    const left = grantedNanos - costOf(rates(candidate), asked.inputTokens, 0)
    const tokens = Math.max(1, Math.floor((left * 1000) / outputMicros / asked.choices))
    const own = asked.outputTokensMax ?? candidate.model.max_output_tokens
    return own !== undefined && own <= tokens ? {} : { [limitField(asked, candidate)]: tokens }
  }

  const bodyOf = (asked: Asked, candidate: Candidate, reservation: Reservation): string => {
    const { models: _, stream: __, ...fields } = asked.given
    return JSON.stringify({
      ...fields,
      model: candidate.model.id,
      ...(asked.isStreamed && {
        stream: true,
        // What it costs is known by this alone.
        stream_options: { ...asked.given.stream_options, include_usage: true },
      }),
      ...capOf(asked, candidate, reservation),
    })
  }

  const readWhole = async (
    asked: Asked,
    answer: Parameters<typeof readJson>[0],
    flight: Flight,
  ): Promise<Answered> => {
    const { bytes, value } = await readJson(answer, flight, "choices", clock.now())
    flight.end()
    const estimated = {
      inputTokens: asked.inputTokens,
      outputTokens: estimateTokens(bytes.length),
      isEstimated: true,
    }
    return { isStreamed: false, bytes, usage: readUsage(value.usage) ?? estimated }
  }

  const send =
    (asked: Asked, requestId: string) =>
    async (candidate: Candidate, flight: Flight, reservation: Reservation) => {
      const body = bodyOf(asked, candidate, reservation)
      const answer = await client.send(
        candidate.upstream,
        { method: "POST", path: "/chat/completions", body },
        flight,
      )
      await checkStatus(answer, flight, clock.now())
      if (!asked.isStreamed) return readWhole(asked, answer, flight)
      const { wantsUsage, inputTokens } = asked
      const stream = await openChatStream({
        answer,
        flight,
        now: clock.now,
        requestId,
        wantsUsage,
        inputTokens,
      })
      return { isStreamed: true, stream } satisfies Answered
    }

  const follow = (
    call: ModelCaller,
    { candidate, reservation }: Inferred<Answered>,
    stream: ChatStream,
  ): Readable => {
    live.add(stream)
    stream.onEnd(({ usage, failure }) => {
      live.delete(stream)
      reservation.settle(gateway.costOf(candidate, usage))
      gateway.meterTokensLater(call, usage)
      if (failure) health.failed(candidate, failure)
    })
    call.setHeader("content-type", "text/event-stream; charset=utf-8")
    call.setHeader("cache-control", "no-cache, no-transform")
    call.setHeader("x-accel-buffering", "no")
    return stream.body
  }

  return {
    /** The reply's bytes: JSON, or events. */
    async complete(given: Given, call: ModelCaller, isStreamed: boolean): Promise<Buffer | Readable> {
      const asked = readAsked(given, isStreamed)
      const inferred = await gateway.infer<Answered>(call, {
        kind: "chat",
        models: [given.model, ...(given.models ?? [])],
        firstByteMs: isStreamed ? FIRST_WORDS_MS : FIRST_BYTE_MS,
        estimate: estimateOf(asked),
        send: send(asked, call.requestId),
      })
      const { result, candidate, reservation } = inferred
      if (result.isStreamed) return follow(call, inferred, result.stream)
      reservation.settle(gateway.costOf(candidate, result.usage))
      gateway.meterTokens(call, result.usage)
      call.setHeader("content-type", "application/json; charset=utf-8")
      return result.bytes
    },
    [Symbol.dispose]: () => ticker[Symbol.dispose](),
  }
}

export type Chat = ReturnType<typeof createChat>
