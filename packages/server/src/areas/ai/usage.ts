/** Token counts as upstreams tell them. */
import type { TokenUsage } from "./prices.ts"

const count = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? Math.ceil(value) : undefined

/** `usage` of OpenAI's replies; undefined where it tells nothing. */
export const readUsage = (usage: unknown): TokenUsage | undefined => {
  if (typeof usage !== "object" || usage === null) return undefined
  const { prompt_tokens, completion_tokens, total_tokens, input_tokens, output_tokens } = usage as Record<
    string,
    unknown
  >
  const input = count(prompt_tokens) ?? count(input_tokens)
  const total = count(total_tokens)
  const output = count(completion_tokens) ?? count(output_tokens)
  if (input === undefined && total === undefined) return undefined
  const inputTokens = input ?? Math.max(0, (total ?? 0) - (output ?? 0))
  return { inputTokens, outputTokens: output ?? Math.max(0, (total ?? 0) - inputTokens), isEstimated: false }
}

export const toUsage = ({ inputTokens, outputTokens, isEstimated }: TokenUsage) => ({
  prompt_tokens: inputTokens,
  completion_tokens: outputTokens,
  total_tokens: inputTokens + outputTokens,
  ...(isEstimated && { estimated: true }),
})
