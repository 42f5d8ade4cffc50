/** What is asked of the thread of the embedded engines, and what it answers. */
import type { Sentiment } from "./sentiment.ts"
import type { Summary, SummaryLimits } from "./summary.ts"

export interface Detected {
  /** ISO 639-1; `und` where it cannot be told. */
  readonly language: string
  /** From 0 to 1. */
  readonly confidence: number
}

export interface GrammarTask {
  readonly text: string
  readonly dialect: "american" | "british" | "canadian" | "australian"
}

export type TextTask =
  | { readonly kind: "detect"; readonly text: string }
  | { readonly kind: "sentiment"; readonly text: string }
  | { readonly kind: "bm25"; readonly query: string; readonly texts: readonly string[] }
  | { readonly kind: "summarize"; readonly text: string; readonly limits: SummaryLimits }

export interface TextResults {
  /** The score of each text. */
  readonly bm25: number[]
  readonly detect: Detected
  readonly sentiment: Sentiment
  readonly summarize: Summary
}
