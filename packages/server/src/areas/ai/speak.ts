/** Speech, of an upstream's model or of the embedded engine. */
import { AI_DEFAULT_MODEL, type areas, type Input } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Clock } from "../../kernel/clock.ts"
import { fault } from "../../kernel/fault.ts"
import { readBytes } from "./answer.ts"
import { type Candidate, type Catalog, callable } from "./catalog.ts"
import { countEmbeddedRequest } from "./embeddings.ts"
import { SPEECH_FORMATS, type SpeechFormat } from "./engines/speech/messages.ts"
import type { Speech } from "./engines/speech/speech.ts"
import { UpstreamFailure } from "./failure.ts"
import type { Gateway } from "./gateway.ts"
import type { AiLedger } from "./ledger.ts"
import { createPost, fixed } from "./post.ts"
import { costOfUnits, estimateTokens } from "./prices.ts"
import type { UpstreamClient } from "./upstream-client.ts"

type Given = Input<typeof areas.ai.specs.speak>

const FIRST_BYTE_MS = 120_000
const CHARACTERS_PER_MCHAR = 1_000_000
export const EMBEDDED_SPEECH = "svc-espeak"
const VOICE_DEFAULT = "alloy"

const types: Readonly<Record<string, string>> = {
  mp3: "audio/mpeg",
  opus: "audio/ogg",
  aac: "audio/aac",
  flac: "audio/flac",
  wav: "audio/wav",
  pcm: "audio/pcm",
}

export interface SpeakNeeds {
  readonly gateway: Gateway
  readonly catalog: Catalog
  readonly ledger: AiLedger
  readonly client: UpstreamClient
  readonly clock: Clock
  readonly speech: Speech
}

const checkFormat = (format: string, known: readonly string[]) => {
  if (!known.includes(format))
    throw fault("invalid_parameter", { reason: `\`response_format\` is one of ${known.join(", ")}` })
}

/** A name, or `{id}` as OpenAI has it for voices that were made. */
const voiceOf = ({ voice = VOICE_DEFAULT }: Given): string => {
  const name = typeof voice === "object" && voice !== null && "id" in voice ? voice.id : voice
  if (typeof name !== "string")
    throw fault("invalid_parameter", { reason: "`voice` must be the name of a voice" })
  return name
}

export const createSpeak = ({ gateway, catalog, ledger, client, clock, speech }: SpeakNeeds) => {
  const post = createPost(client, clock)

  const speakHere = async (given: Given, format: string, call: Call): Promise<Uint8Array> => {
    checkFormat(format, SPEECH_FORMATS)
    const { input: text, speed = 1 } = given
    const task = { text, voice: voiceOf(given), speed, format: format as SpeechFormat }
    await countEmbeddedRequest(ledger, call)
    const bytes = await speech.speak(call.organization.id, task)
    gateway.meterTokens(call, {
      inputTokens: estimateTokens(text.length),
      outputTokens: 0,
      isEstimated: true,
    })
    // The reply is audio, so what made it is told by headers.
    call.setHeader("x-svc-model", EMBEDDED_SPEECH)
    call.setHeader("x-svc-method", "embedded")
    call.setHeader("content-type", types[format] ?? "")
    return bytes
  }

  const speakThere = async (given: Given, format: string, call: Call): Promise<Buffer> => {
    const millions = given.input.length / CHARACTERS_PER_MCHAR
    const priceOf = ({ model }: Candidate) => costOfUnits(model.prices, "speech_micros_per_mchar", millions)
    const { result, candidate, reservation } = await gateway.infer(call, {
      kind: "speech",
      models: [given.model],
      firstByteMs: FIRST_BYTE_MS,
      estimate: of => fixed(priceOf(of)),
      async send(of, flight) {
        const body = JSON.stringify({ ...given, model: of.model.id })
        const answer = await post(of, flight, "/audio/speech", body)
        const bytes = await readBytes(answer, flight)
        flight.end()
        const sent = answer.headers["content-type"] ?? ""
        if (sent.startsWith("application/json") || sent.startsWith("text/") || bytes.length === 0)
          throw new UpstreamFailure("transient", `it answered ${sent || "nothing"} in the place of audio`)
        return { bytes, type: sent.startsWith("audio/") ? sent : (types[format] ?? "") }
      },
    })
    reservation.settle(priceOf(candidate))
    gateway.meterTokens(call, {
      inputTokens: estimateTokens(given.input.length),
      outputTokens: 0,
      isEstimated: true,
    })
    call.setHeader("content-type", result.type)
    return result.bytes
  }

  return async (given: Given, call: Call): Promise<Uint8Array> => {
    const { model, response_format: format = "mp3" } = given
    checkFormat(format, Object.keys(types))
    if (model === EMBEDDED_SPEECH) return speakHere(given, format, call)
    const upstreams = await catalog.upstreamsOf(call.organization.id)
    const hasUpstream = callable(upstreams, "speech", call.organization.plan).length > 0
    const isDefault = model === undefined || model === AI_DEFAULT_MODEL
    return isDefault && !hasUpstream ? speakHere(given, format, call) : speakThere(given, format, call)
  }
}
