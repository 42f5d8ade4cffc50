/** What the conformance tests share. */
import assert from "node:assert/strict"
import { randomBytes, randomUUID } from "node:crypto"
import type { TestContext } from "node:test"
import { PortError, type PortErrorKind } from "../../port-error.ts"
import type { BlobPort, ByteRange, HashName, ListedBlob, StagedBlob } from "../port.ts"

/** An empty store, closed after the test. */
export type OpenBlobs = (t: TestContext) => Promise<BlobPort>

export interface Suite {
  readonly open: OpenBlobs
  /** Enough that the driver writes and reads it in several pieces. */
  readonly largeBytes: number
}

export const MIB = 1024 * 1024
export const ANY = { bytesMax: 64 * MIB }
export const LATER = () => Date.now() + 60_000

export const rejectsAs = (kind: PortErrorKind, act: () => unknown): Promise<void> =>
  assert.rejects(
    async () => await act(),
    (error: unknown) => error instanceof PortError && error.kind === kind,
  )

/** Bytes that are nowhere else, and that do not repeat. */
export const newBytes = (length: number): Buffer => randomBytes(length)

export async function* inChunks(bytes: Uint8Array, chunkBytes = 64 * 1024): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
}

export const stage = (
  blobs: BlobPort,
  owner: string,
  bytes: Uint8Array,
  hashes: readonly HashName[] = [],
): Promise<StagedBlob> => blobs.stage(owner, inChunks(bytes), { ...ANY, hashes })

export const publish = async (blobs: BlobPort, owner: string, bytes: Uint8Array): Promise<string> => {
  const staged = await stage(blobs, owner, bytes)
  await staged.publish()
  return staged.address
}

export const read = async (
  blobs: BlobPort,
  owner: string,
  address: string,
  range?: ByteRange,
): Promise<Buffer> => Buffer.concat(await (await blobs.read(owner, address, range)).toArray())

export const listAll = (blobs: BlobPort): Promise<ListedBlob[]> => Array.fromAsync(blobs.list())

/** Neither published nor waiting to be. */
export const holdsNothing = async (blobs: BlobPort): Promise<void> => {
  assert.deepEqual(await listAll(blobs), [])
  assert.equal(await blobs.sweep(LATER()), 0)
}

/** A source that counts what was asked of it, and knows whether it was closed before its end. */
export const countedSource = (chunk: Uint8Array, chunks: number) => {
  const source = {
    pulled: 0,
    isClosed: false,
    async *[Symbol.asyncIterator]() {
      try {
        for (; source.pulled < chunks; ) {
          source.pulled += 1
          yield chunk
        }
      } finally {
        source.isClosed = source.pulled < chunks
      }
    },
  }
  return source
}

export const newOwner = (): string => randomUUID()
