/** What other areas may ask of this one: types and tokens alone. */
import type { Call } from "../../kernel/call.ts"
import { offerToken } from "../../kernel/token.ts"

export interface ChatMessage {
  readonly role: "system" | "user" | "assistant"
  readonly content: string
}

export interface ChatQuestion {
  /** The first chat model when undefined. */
  readonly model: string | undefined
  readonly messages: readonly ChatMessage[]
  readonly maxTokens: number
  /** A JSON schema that the answer must meet, with a name for it. */
  readonly schema?: { readonly name: string; readonly schema: Readonly<Record<string, unknown>> }
}

export interface EmbeddedTexts {
  /** Of length 1, one for each text; a text without words has the zero vector. */
  readonly vectors: readonly Float32Array[]
  readonly model: string
  readonly method: "embedded"
}

/** Who asks and pays: a call, or work in the background that stands for one. */
export type ModelCaller = Pick<
  Call,
  "organization" | "project" | "requestId" | "signal" | "setHeader" | "meter"
>

/** The gateway, for areas that answer with the help of models. What they ask is the caller's request, and the caller pays. */
export interface AiModels {
  /** Whether the caller's organization has a chat model. */
  hasChat(call: Pick<ModelCaller, "organization">): Promise<boolean>
  /**
   * One answer: reserved, sent, failed over, settled and counted as `POST /v1/ai/chat/completions`. Throws its faults;
   * `all_providers_exhausted` also where the answer has no text.
   */
  chat(call: ModelCaller, question: ChatQuestion): Promise<{ readonly text: string; readonly model: string }>
  /** Counts a request of the day that costs nothing and names its answer's origin. Throws `ai_daily_limit_exceeded`. */
  countEmbedded(call: ModelCaller): Promise<void>
  /** By the embedded engine; counts nothing. */
  embed(texts: readonly string[]): Promise<EmbeddedTexts>
}

export const aiModels = offerToken<AiModels>("aiModels")
