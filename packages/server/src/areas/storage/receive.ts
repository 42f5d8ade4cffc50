/** Bytes from a caller into the blob store: bounded, hashed, compared with what was announced. */
import { fault, isFault } from "../../kernel/fault.ts"
import type { BlobPort, HashName, StagedBlob } from "../../ports/blob/port.ts"
import { callStore } from "./call-store.ts"
import type { Checksums, Place, PutObject } from "./object-store.ts"
import type { Quota } from "./quota.ts"
import { checkDigests, storedChecksums } from "./rules/checksums.ts"
import type { BlobPart } from "./store/rows.ts"

export interface Incoming extends Pick<PutObject, "source" | "size" | "expected" | "trailing" | "signal"> {
  readonly bytesMax: number
  /** Digests to compute beside MD5 and those expected. */
  readonly hashes?: readonly HashName[]
  /** Bytes that this takes the place of. */
  readonly replaced?: () => Promise<number>
  /** What a source that breaks off leaves behind is kept. */
  readonly keepsTorn?: boolean
}

export interface Received {
  readonly size: number
  /** Hexadecimal MD5. */
  readonly etag: string
  /** Those that were expected or asked for. */
  readonly checksums: Checksums
  /** None when there are no bytes: then nothing is kept of them. */
  readonly parts: readonly BlobPart[]
  /** What the source broke off with, where that does not matter. */
  readonly torn: unknown
  publish(): Promise<void>
  /** A row refers to it. */
  stored(): void
  /** Not after `stored`. */
  discard(): Promise<void>
}

/** Why an upload ended early: its sender stopped, whatever the socket says about it. */
const asFault = (error: unknown) =>
  isFault(error) ? error : fault("request_timeout", undefined, { internal: error })

interface Passing {
  bytes: number
  /** What the plan has room for, as far as was asked. */
  bytesMax: number
  torn: unknown
}

/** Refuses what is too long as soon as it is, and counts. */
async function* watch(
  { source, keepsTorn, bytesMax }: Incoming,
  passing: Passing,
  admit: (bytes: number) => Promise<number>,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of source) {
      passing.bytes += chunk.length
      if (passing.bytes > bytesMax) throw fault("payload_too_large", { bytes: bytesMax })
      if (passing.bytes > passing.bytesMax) passing.bytesMax = await admit(passing.bytes)
      yield chunk
    }
  } catch (error) {
    if (!keepsTorn || (isFault(error) && !isFault(error, "request_timeout"))) throw asFault(error)
    passing.torn = error
  }
}

const checkLength = ({ size }: Incoming, { bytes }: Passing) => {
  if (size !== undefined && bytes !== size)
    throw fault("invalid_request", { reason: `${size} bytes were announced and ${bytes} arrived` })
}

export const createReceiver =
  ({ blob, quota }: { readonly blob: BlobPort; readonly quota: Quota }) =>
  async ({ organization, projectId }: Place, incoming: Incoming): Promise<Received> => {
    const { size = 0, expected = {}, trailing, hashes = [], signal } = incoming
    if (size > incoming.bytesMax) throw fault("payload_too_large", { bytes: incoming.bytesMax })
    const { bytesMax } = incoming
    const admit = (bytes: number) => quota.admit(organization, bytes, incoming.replaced)
    const passing: Passing = { bytes: 0, bytesMax: await admit(size), torn: undefined }
    const source = watch(incoming, passing, admit)
    const names: HashName[] = ["md5", ...hashes, ...(trailing?.hashes ?? [])]
    for (const name of Object.keys(expected) as HashName[]) names.push(name)
    const staged: StagedBlob = await callStore(() =>
      blob.stage(projectId, source, { bytesMax, hashes: [...new Set(names)], ...(signal && { signal }) }),
    )
    try {
      if (passing.torn === undefined) checkLength(incoming, passing)
      checkDigests({ ...expected, ...trailing?.expected() }, staged.hashes)
      // Others may have stored what was left meanwhile.
      await admit(staged.bytes)
    } catch (error) {
      await staged.discard()
      throw error
    }
    const held = quota.hold(organization, staged.bytes)
    const isEmpty = staged.bytes === 0
    if (isEmpty) await staged.discard()
    return {
      size: staged.bytes,
      etag: staged.hashes.md5?.toString("hex") ?? "",
      checksums: storedChecksums(staged.hashes),
      parts: isEmpty ? [] : [{ address: staged.address, size: staged.bytes }],
      torn: passing.torn,
      publish: () => (isEmpty ? Promise.resolve() : callStore(() => staged.publish())),
      stored: () => held.stored(),
      async discard() {
        held.dropped()
        await staged.discard()
      },
    }
  }

export type Receive = ReturnType<typeof createReceiver>
