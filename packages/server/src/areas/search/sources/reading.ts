import type { Item, Unreadable } from "../documents.ts"
import type { SourceRecord } from "../store.ts"

export interface Reading {
  readonly items: readonly (Item | Unreadable)[]
  /** Where to go on; null at the end. */
  readonly next: string | null
}

/** Reads a source in bounded pieces. The cursor is null at the beginning, else what the piece before gave. */
export type ReadSource = (
  source: SourceRecord,
  cursor: string | null,
  signal: AbortSignal,
) => Promise<Reading>

/** The source cannot be read, and repeating it changes nothing. The message is for its owner. */
export class SourceProblem extends Error {
  override readonly name = "SourceProblem"
}
