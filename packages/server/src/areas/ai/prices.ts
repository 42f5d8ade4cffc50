/** What requests cost, in nanos: thousand-millionths of a US dollar. */

import type { ModelPrices } from "../../core/ai/upstream-record.ts"
import type { Candidate } from "./catalog.ts"

export interface TokenUsage {
  readonly inputTokens: number
  readonly outputTokens: number
  /** No upstream told: counted from the length of texts. */
  readonly isEstimated: boolean
}

/** Prices of one model, complete. A price that is not given is the installation's guess, or nothing where a tenant pays its vendor. */
export interface Rates {
  readonly inputMicros: number
  readonly outputMicros: number
}

export const ratesOf = ({ upstream, model: { prices } }: Candidate, unknownPriceMicros: number): Rates => {
  const unknown = upstream.isOwn ? 0 : unknownPriceMicros
  const input = prices?.input_micros_per_mtok
  return {
    inputMicros: input ?? unknown,
    // Where only one of the two is given the other is no less.
    outputMicros: prices?.output_micros_per_mtok ?? input ?? unknown,
  }
}

export const costOf = (
  { inputMicros, outputMicros }: Rates,
  inputTokens: number,
  outputTokens: number,
): number => Math.ceil((inputTokens * inputMicros + outputTokens * outputMicros) / 1000)

/** Price of things that are not tokens, with their unit price in micros. */
export const costOfUnits = (
  prices: ModelPrices | undefined,
  unit: keyof ModelPrices,
  quantity: number,
): number => Math.ceil((prices?.[unit] ?? 0) * quantity * 1000)

/** The fewest bytes of a token that is common in prompts: an estimate with it is rarely too small. */
const BYTES_PER_TOKEN_MIN = 3
const BYTES_PER_TOKEN = 4
/** What an image or a sound in a message is counted as, whatever its bytes. */
const MEDIA_TOKENS = 1_500
const MEDIA_LENGTH_MIN = 1_000

const isMedia = (text: string): boolean =>
  text.length >= MEDIA_LENGTH_MIN &&
  (text.startsWith("data:") || !/[\s.,]/.test(text.slice(0, MEDIA_LENGTH_MIN)))

/** Characters and media of a JSON value, names of fields left out. */
const measure = (value: unknown, sum: { bytes: number; media: number }): void => {
  if (typeof value === "string") {
    if (isMedia(value)) sum.media++
    else sum.bytes += Buffer.byteLength(value)
  } else if (Array.isArray(value)) {
    for (const part of value) measure(part, sum)
  } else if (typeof value === "object" && value !== null) {
    for (const name in value) {
      sum.bytes += name.length
      measure((value as Record<string, unknown>)[name], sum)
    }
  }
}

/** Not fewer than the tokens of what is sent, as far as that can be told without the model's own tokenizer. */
export const inputTokensAtMost = (...values: readonly unknown[]): number => {
  const sum = { bytes: 0, media: 0 }
  for (const value of values) measure(value, sum)
  return Math.ceil(sum.bytes / BYTES_PER_TOKEN_MIN) + sum.media * MEDIA_TOKENS
}

export const estimateTokens = (characters: number): number => Math.ceil(characters / BYTES_PER_TOKEN)
