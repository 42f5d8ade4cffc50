/** VADER (Hutto and Gilbert, 2014): a lexicon of rated words, and rules for negation, emphasis and contrast. English. */
import { SentimentIntensityAnalyzer } from "vader-sentiment"
import { type Polarity, polarityOf } from "./polarity.ts"
import { sentencesOf } from "./sentences.ts"

export interface Sentiment {
  readonly sentiment: Polarity
  readonly score: number
  readonly confidence: number
  readonly scores: { readonly positive: number; readonly neutral: number; readonly negative: number }
  readonly sentences: { readonly text: string; readonly sentiment: Polarity; readonly score: number }[]
}

const round = (value: number): number => Math.round(value * 10_000) / 10_000

export const sentimentOf = (text: string): Sentiment => {
  const rated = sentencesOf(text).map(sentence => ({
    text: sentence.text,
    ...SentimentIntensityAnalyzer.polarity_scores(sentence.text),
  }))
  const mean = (field: "compound" | "pos" | "neg") =>
    rated.length === 0 ? 0 : round(rated.reduce((sum, scores) => sum + scores[field], 0) / rated.length)
  const score = mean("compound")
  const positive = mean("pos")
  const negative = mean("neg")
  const neutral = round(Math.max(0, 1 - positive - negative))
  const sentiment = polarityOf(score)
  return {
    sentiment,
    score,
    confidence: sentiment === "neutral" ? neutral : Math.abs(score),
    scores: { positive, neutral, negative },
    sentences: rated.map(({ text, compound }) => ({
      text,
      sentiment: polarityOf(compound),
      score: compound,
    })),
  }
}
