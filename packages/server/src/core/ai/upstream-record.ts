/** A model server as an operator or an organization describes it. */
import { type AiKind, aiUpstreamFields, type PlanName, type Static, T } from "@svc/contract"

const Record = T.Object(aiUpstreamFields)
export type GivenUpstream = Static<typeof Record>
export type GivenModel = GivenUpstream["models"][number]

export interface ModelPrices {
  readonly input_micros_per_mtok?: number
  readonly output_micros_per_mtok?: number
  readonly image_micros?: number
  readonly speech_micros_per_mchar?: number
  readonly transcription_micros_per_minute?: number
}

export interface UpstreamModel {
  readonly id: string
  readonly kinds: readonly AiKind[]
  readonly context_length?: number
  readonly max_output_tokens?: number
  readonly prices?: ModelPrices
  readonly min_plan?: PlanName
}

/** A server of the installation's that speaks OpenAI's API. */
export interface OperatorUpstream {
  readonly name: string
  /** Up to and including the version, without a slash at the end: `https://api.openai.com/v1`. */
  readonly baseUrl: string
  readonly key: string | undefined
  readonly models: readonly UpstreamModel[]
  /** 0 is tried first. */
  readonly priority: number
  readonly weight: number
}

/** What the ids of well-known models say of what they do. */
const KIND_BY_NAME: readonly (readonly [RegExp, AiKind])[] = [
  [/embed|\bbge\b|\be5-|minilm/i, "embedding"],
  [/whisper|transcribe/i, "transcription"],
  [/\btts\b|speech/i, "speech"],
  [/dall-e|gpt-image|stable-diffusion|\bflux\b/i, "image"],
]

const kindByName = (id: string): AiKind => KIND_BY_NAME.find(([pattern]) => pattern.test(id))?.[1] ?? "chat"

export const toModel = (given: GivenModel): UpstreamModel => {
  if (typeof given === "string") return { id: given, kinds: [kindByName(given)] }
  return { ...given, kinds: given.kinds ?? [kindByName(given.id)] }
}

/** Without a slash at the end, so that a path can follow. */
export const toBaseUrl = (url: string): string => url.replace(/\/+$/, "")
