/**
 * JSON texts under keys, with expiry, versions and atomic batches, apart for every owner.
 *
 * Promises, tested by `conformance.ts`, and durability by the tests of each driver:
 *
 * - Owner: every operation names the owner first (a lower-case UUID). Nothing an owner says, a forged cursor
 *   included, reads, lists or changes what belongs to another.
 * - Order: a write that resolved is seen by every call that starts after it.
 * - Durability: a write resolves once it has survived what `capabilities.durable` names.
 * - Atomicity: `set` tests its condition and writes in one step; `batch` happens whole or not at all.
 * - Versions: every write of a key gives it a higher version than any it had before, also after it was
 *   deleted or had expired, so a writer that holds an old version can never take a new entry for the old one.
 *   Only `erase` starts anew: an erased owner's id is not used again.
 * - Time: `now` (milliseconds since the epoch) alone decides. At `now >= expiresAt` an entry is gone for
 *   every reader; `sweep` gives its space back later, and `usage` counts it until then.
 * - Keys: 1 to 1,024 bytes of well-formed Unicode, ordered by their UTF-8 bytes. Values: at most 1.5 MiB as
 *   UTF-8.
 * - Bounds: no call does unbounded work; what exceeds a bound of `bounds.ts` is refused.
 * - Errors: a `PortError` of kind `refused` or `unavailable`, and nothing half-written. When the engine dies
 *   under a write, `unavailable` leaves open whether it happened.
 */
import { openedToken } from "../../kernel/token.ts"
export interface KvPort extends AsyncDisposable {
  readonly capabilities: KvCapabilities

  /**
   * An engine in this process answers, and throws, at once, so that the commonest call pays for no promise.
   */
  get(owner: string, key: string, now: number): Eventually<KvEntry | undefined>
  set(owner: string, key: string, write: KvWrite, now: number): Promise<KvWritten>
  /** How many of the keys held a value. */
  delete(owner: string, keys: readonly string[], now: number): Promise<number>
  /** How many of the keys hold a value; a key named twice counts once. */
  exists(owner: string, keys: readonly string[], now: number): Eventually<number>
  /**
   * One page of keys in byte order. A page may hold fewer keys than `limit`, even none: the end is a null
   * cursor.
   */
  list(owner: string, listing: KvListing, now: number): Eventually<KvPage>
  /** Operations in order, each seeing those before it. */
  batch(owner: string, ops: readonly KvOp[], now: number): Promise<KvBatchOutcome>

  /**
   * What the owner's entries take: keys and values in bytes, kept up to date by every write, read in O(1).
   */
  usage(owner: string): Eventually<KvUsage>
  /** Deletes everything of the owner, a bounded piece at a time, and tells how many entries that were. */
  erase(owner: string): Promise<number>
  /** Gives back the space of at most `limit` expired entries of all owners, and tells how many. */
  sweep(now: number, limit: number): Promise<number>
  health(): Promise<KvHealth>
}

export type Eventually<T> = T | Promise<T>

export interface KvCapabilities {
  /**
   * What a resolved write has survived: `fsync` is a power cut, because it is on this machine's disk;
   * `server` is whatever the server at the other end is configured for, which `health` tells.
   */
  readonly durable: "fsync" | "server"
  /** Whether processes on several machines may share one store. */
  readonly shared: boolean
}

export interface KvEntry {
  /** JSON text. */
  readonly value: string
  readonly version: number
  /** Milliseconds since the epoch; null when it never expires. */
  readonly expiresAt: number | null
}

export interface KvWrite {
  /** JSON text, which the port keeps without reading it. */
  readonly value: string
  readonly expiresAt: number | null
  /** Keeps the expiry of the entry that is there; `expiresAt` is for when there is none. */
  readonly keepTtl?: boolean
  /** Every condition named must hold. */
  readonly onlyIf?: {
    readonly absent?: boolean
    readonly present?: boolean
    readonly version?: number | undefined
  }
}

/**
 * After a write the entry's new state; when a condition did not hold, the state that stays (nulls for no
 * entry).
 */
export interface KvWritten {
  readonly stored: boolean
  readonly version: number | null
  readonly expiresAt: number | null
}

export interface KvListing {
  /** A glob; see `glob.ts`. */
  readonly pattern: string
  readonly limit: number
  /** The `cursor` of the page before; null for the first. */
  readonly cursor: string | null
}

export interface KvPage {
  readonly keys: string[]
  readonly cursor: string | null
}

export type KvOp =
  | { readonly op: "set"; readonly key: string; readonly write: KvWrite }
  | { readonly op: "get" | "delete"; readonly key: string }

export type KvOpResult =
  | { readonly op: "set"; readonly written: KvWritten }
  | { readonly op: "get"; readonly entry: KvEntry | undefined }
  | { readonly op: "delete"; readonly deleted: number }

/** One result per operation, in order; when the condition of one did not hold, its index and no results. */
export type KvBatchOutcome =
  | { readonly committed: true; readonly failedIndex: null; readonly results: KvOpResult[] }
  | { readonly committed: false; readonly failedIndex: number; readonly results: [] }

export interface KvUsage {
  readonly keys: number
  readonly bytes: number
}

export type KvHealth =
  /** `detail` is for the operator: how durable the engine says it is. */
  { readonly ok: true; readonly detail: string } | { readonly ok: false; readonly reason: string }

export const kv = openedToken<KvPort>("kv")
