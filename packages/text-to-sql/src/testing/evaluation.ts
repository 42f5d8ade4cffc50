/** The shape of an evaluation set: a schema with data, and questions with a statement that answers each. */

/** The moment that all questions are asked at. */
export const ASKED_AT = new Date("2024-06-15T12:00:00Z")

export type Kind =
  | "list"
  | "filter"
  | "count"
  | "aggregate"
  | "group"
  | "rank"
  | "first per"
  | "date"
  | "existence"
  | "having"
  | "percentage"
  | "join"
  | "comparison"

export interface Pair {
  readonly kind: Kind
  readonly question: string
  readonly sql: string
}

export interface EvaluationSet {
  readonly name: string
  readonly setup: string
  readonly pairs: readonly Pair[]
}

export const pairs = (rows: readonly (readonly [Kind, string, string])[]): Pair[] =>
  rows.map(([kind, question, sql]) => ({ kind, question, sql }))
