export type Polarity = "positive" | "neutral" | "negative"

/** As VADER's authors set it. */
const POLAR_FROM = 0.05

export const polarityOf = (score: number): Polarity => {
  if (score >= POLAR_FROM) return "positive"
  return score <= -POLAR_FROM ? "negative" : "neutral"
}
