/** What makes the vectors: the embedded engine, which compares words and parts of words. */
import type { Call } from "../../kernel/call.ts"
import { type Offer, provided } from "../../kernel/offer.ts"
import type { AiModels } from "../ai/offers.ts"

export interface Embedded {
  readonly vectors: readonly Float32Array[]
  readonly model: string
  readonly dimensions: number
}

export interface Embedder {
  embed(texts: readonly string[]): Promise<Embedded>
  /** Counts the call as one of the day's AI requests. Throws `ai_daily_limit_exceeded`. */
  count(call: Call): Promise<void>
}

export const createEmbedder = (models: Offer<AiModels>): Embedder => ({
  async embed(texts) {
    // Without texts it still names the engine.
    const { vectors, model } = await (await provided(models)).embed(texts.length === 0 ? [""] : texts)
    return { vectors, model, dimensions: vectors[0]?.length ?? 0 }
  },
  count: async call => (await provided(models)).countEmbedded(call),
})
