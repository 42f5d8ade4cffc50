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

export interface CompletionTask {
  /** The unfinished text. */
  readonly text: string
  /** Texts of the caller's that show how it may go on. */
  readonly corpus: readonly string[]
  /** Whether the built-in counts of English are used as well. */
  readonly isEnglish: boolean
  readonly suggestionsMax: number
  readonly wordsMax: number
}

export interface Completion {
  /** What is to be appended to the text, as it is. */
  readonly text: string
  /** From 0 to 1. */
  readonly score: number
}

export type TextTask =
  | ({ readonly kind: "complete" } & CompletionTask)
  | { readonly kind: "detect"; readonly text: string }
  | { readonly kind: "sentiment"; readonly text: string }
  | { readonly kind: "bm25"; readonly query: string; readonly texts: readonly string[] }
  | { readonly kind: "summarize"; readonly text: string; readonly limits: SummaryLimits }

export interface TextResults {
  /** The likeliest first. */
  readonly complete: Completion[]
  /** The score of each text. */
  readonly bm25: number[]
  readonly detect: Detected
  readonly sentiment: Sentiment
  readonly summarize: Summary
}
