import type { Readable } from "node:stream"
import { openedToken } from "../../kernel/token.ts"

/**
 * Bytes that never change, under addresses, apart for every owner. What they are called, who may read them and how
 * long they live is the caller's to keep; this keeps only bytes.
 *
 * Promises, tested by `conformance.ts`, and durability by the tests of each driver:
 *
 * - Owner: every operation names the owner first (a lower-case UUID). No address, forged ones included, reads or
 *   removes what belongs to another.
 * - Wholeness: an address is readable from the moment `publish` resolved, and then it gives all its bytes or fails; a
 *   source that ends early, is too long or errs leaves nothing readable.
 * - Durability: what was published has survived what `capabilities.durable` names.
 * - Streams: neither a write nor a read holds more of a blob in memory than a few chunks, whatever its size, and a slow
 *   reader slows the engine, not the other way round.
 * - Sameness: where `capabilities.contentAddressed`, equal bytes of one owner have one address, and publishing them
 *   again while they are there, or while somebody reads them, changes nothing that can be seen.
 * - Removal: a removed address is missing for reads that start later; a read under way ends as it began, or fails.
 * - Bounds: no call does unbounded work but `list`, which streams.
 * - Errors: a `PortError` of kind `missing`, `refused` or `unavailable`; the source's own error passes unchanged.
 */
export interface BlobPort extends AsyncDisposable {
  readonly capabilities: BlobCapabilities

  /**
   * Reads the source to its end into a place where nobody finds it. Refused when it is longer than `bytesMax`, before
   * more than a chunk too much was read. When the signal aborts it is `unavailable`, even if the source hangs, and
   * leaves nothing behind. A source that is not at its end is closed. Its chunks must not change once they were given.
   */
  stage(
    owner: string,
    source: AsyncIterable<Uint8Array>,
    options: {
      readonly bytesMax: number
      readonly hashes?: readonly HashName[]
      readonly signal?: AbortSignal
    },
  ): Promise<StagedBlob>

  /**
   * Bytes `start` to `end`, both inclusive, or all of them. Resolves once the blob is known to be there, with a stream
   * that must be read or destroyed. A range that the blob does not have in full is refused, now or by the stream; who
   * names the range even of a whole blob is told when its end was lost, and spares the engine the search for it.
   */
  read(owner: string, address: string, range?: ByteRange): Promise<Readable>

  /** Addresses that are not there are passed over. After a power cut a removed blob may be there again. */
  remove(owner: string, addresses: readonly string[]): Promise<void>

  /** Reads the whole blob again and compares its SHA-256 with that of what was written. */
  verify(owner: string, address: string): Promise<BlobCondition>

  /**
   * Everything published, in no particular order: for finding what nobody refers to any more. What was published a
   * moment ago is there too, whether or not its caller has come to noting it down.
   */
  list(): AsyncIterable<ListedBlob>

  /**
   * Removes what was staged before `before` (milliseconds since the epoch) and never published, and tells how many. Who
   * publishes such a blob later is told that it is `missing`.
   */
  sweep(before: number): Promise<number>

  health(): Promise<BlobHealth>
}

export type HashName = "md5" | "sha1" | "sha256" | "crc32" | "crc32c" | "crc64nvme"

export interface BlobCapabilities {
  /** `fsync`: a power cut, because it is on this machine's disk; `server`: what the server at the other end promises. */
  readonly durable: "fsync" | "server"
  /** Whether processes on several machines may share one store. */
  readonly shared: boolean
  readonly contentAddressed: boolean
}

export interface StagedBlob {
  /** Printable ASCII without spaces, at most 200 characters. */
  readonly address: string
  readonly bytes: number
  /** Of the hashes asked for, as raw digests (CRCs big-endian). */
  readonly hashes: Readonly<Partial<Record<HashName, Buffer>>>
  /**
   * Makes it readable, for good. May be called again after it failed.
   *
   * Where `contentAddressed`, the caller keeps `publish` and `remove` of one address from happening at the same time, for
   * instance by a lock on its row of that address: else the removal of bytes that nobody needed any more takes those
   * that somebody has just published. Elsewhere an address is used once, and needs no lock.
   */
  publish(): Promise<void>
  /** Forgets it; nothing happens after `publish`. Never rejects. */
  discard(): Promise<void>
}

export interface ByteRange {
  readonly start: number
  readonly end: number
}

export type BlobCondition = "intact" | "damaged" | "missing"

export interface ListedBlob {
  readonly owner: string
  readonly address: string
  readonly bytes: number
  /** Milliseconds since the epoch. */
  readonly publishedAt: number
}

export interface BlobHealth {
  readonly ok: boolean
  readonly reason?: string
  /** Where the engine knows. */
  readonly freeBytes?: number
}

export const blob = openedToken<BlobPort>("blob")
