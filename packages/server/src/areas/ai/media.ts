/** Images and transcriptions, by upstreams alone. */
import type { Readable } from "node:stream"
import { AI_AUDIO_BYTES_MAX, type areas, type Input } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Clock } from "../../kernel/clock.ts"
import { fault } from "../../kernel/fault.ts"
import { readBytes, readJson } from "./answer.ts"
import type { Candidate } from "./catalog.ts"
import { boundaryOf, readForm, withModel } from "./form.ts"
import type { Gateway } from "./gateway.ts"
import { createPost, fixed } from "./post.ts"
import { costOf, costOfUnits, inputTokensAtMost, type TokenUsage } from "./prices.ts"
import type { UpstreamClient } from "./upstream-client.ts"
import { readUsage } from "./usage.ts"

type Specs = typeof areas.ai.specs

const FIRST_BYTE_MS = 120_000
/** What a file of unknown length is taken for, one minute: 16 kHz, 16 bit, one channel, compressed to an eighth. */
const BYTES_PER_MINUTE = 240_000

const JSON_TYPE = "application/json; charset=utf-8"

export interface MediaNeeds {
  readonly gateway: Gateway
  readonly client: UpstreamClient
  readonly clock: Clock
}

const collect = async (stream: Readable): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > AI_AUDIO_BYTES_MAX) throw fault("payload_too_large", { bytes: AI_AUDIO_BYTES_MAX })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

export const createMedia = ({ gateway, client, clock }: MediaNeeds) => {
  const post = createPost(client, clock)

  const imageCost = (candidate: Candidate, images: number, usage: TokenUsage | undefined): number => {
    const { prices } = candidate.model
    if (prices?.image_micros !== undefined) return costOfUnits(prices, "image_micros", images)
    return usage ? gateway.costOf(candidate, usage) : 0
  }

  return {
    async generateImage(given: Input<Specs["generateImage"]>, call: Call): Promise<Buffer> {
      const count = given.n ?? 1
      const inputTokens = inputTokensAtMost(given.prompt)
      const { result, candidate, reservation } = await gateway.infer(call, {
        kind: "image",
        models: [given.model],
        firstByteMs: FIRST_BYTE_MS,
        estimate: of =>
          fixed(
            of.model.prices?.image_micros === undefined
              ? costOf(gateway.rates(of), inputTokens, 0)
              : imageCost(of, count, undefined),
          ),
        async send(of, flight) {
          const body = JSON.stringify({ ...given, model: of.model.id })
          const answer = await post(of, flight, "/images/generations", body)
          const { bytes, value } = await readJson(answer, flight, "data", clock.now())
          flight.end()
          return { bytes, images: (value.data as readonly unknown[]).length, usage: readUsage(value.usage) }
        },
      })
      reservation.settle(imageCost(candidate, result.images, result.usage))
      if (result.usage) gateway.meterTokens(call, result.usage)
      call.setHeader("content-type", JSON_TYPE)
      return result.bytes
    },

    async transcribe(call: Call): Promise<Buffer> {
      const type = call.header("content-type") ?? ""
      const boundary = boundaryOf(type)
      if (boundary === undefined) throw fault("unsupported_media_type", { types: "multipart/form-data" })
      const body = await collect(call.stream)
      const form = readForm(body, boundary)
      if (form.fileBytes === undefined || form.fileBytes === 0)
        throw fault("missing_parameter", { parameter: "file" })
      const minutes = form.fileBytes / BYTES_PER_MINUTE
      const priceOf = ({ model }: Candidate, length: number) =>
        costOfUnits(model.prices, "transcription_micros_per_minute", length)
      const { result, candidate, reservation } = await gateway.infer(call, {
        kind: "transcription",
        models: [form.model],
        firstByteMs: FIRST_BYTE_MS,
        estimate: of => fixed(priceOf(of, minutes)),
        async send(of, flight) {
          const sent = form.model === of.model.id ? body : withModel(body, form, boundary, of.model.id)
          const answer = await post(of, flight, "/audio/transcriptions", sent, type)
          const bytes = await readBytes(answer, flight)
          flight.end()
          return { bytes, type: answer.headers["content-type"] ?? JSON_TYPE }
        },
      })
      reservation.settle(priceOf(candidate, minutesOf(result.bytes) ?? minutes))
      call.setHeader("content-type", result.type)
      return result.bytes
    },
  }
}

/** As `verbose_json` tells it, and OpenAI's `usage`. */
const minutesOf = (bytes: Buffer): number | undefined => {
  try {
    const { duration, usage } = JSON.parse(bytes.toString()) as {
      duration?: unknown
      usage?: { seconds?: unknown }
    }
    const seconds = Number(usage?.seconds ?? duration)
    return Number.isFinite(seconds) && seconds >= 0 ? seconds / 60 : undefined
  } catch {
    return undefined
  }
}
