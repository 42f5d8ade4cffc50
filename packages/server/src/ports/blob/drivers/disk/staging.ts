import { randomUUID } from "node:crypto"
import { type FileHandle, open, rename, rm } from "node:fs/promises"
import { PortError } from "../../../port-error.ts"
import { startHashes } from "../../hashes.ts"
import { inBackground } from "../../in-background.ts"
import type { BlobPort, StagedBlob } from "../../port.ts"
import { drain } from "../../source.ts"
import type { Directories } from "./directories.ts"
import { codeOf, rejectAsPortError } from "./failures.ts"
import type { Layout } from "./layout.ts"

/** Bytes collected before they are written, at once: a small blob is one write, and a large one few. */
const BATCH_BYTES = 256 * 1024

/** Bytes after which the disk is set to work while more comes, so that the last sync has little left to do. */
const SYNC_BYTES = 4 * 1024 * 1024

/** A new file that is written in batches, each while the next one is collected. */
const createBatchedFile = (path: string) => {
  let handle: FileHandle | undefined
  let batch: Uint8Array[] = []
  let batchBytes = 0
  let unsyncedBytes = 0
  let writing: Promise<unknown> = Promise.resolve()
  let syncing: Promise<unknown> = Promise.resolve()

  const flush = async (): Promise<FileHandle> => {
    const full = batch
    unsyncedBytes += batchBytes
    batch = []
    batchBytes = 0
    handle ??= await open(path, "wx", 0o600)
    await writing
    writing = inBackground(writeAll(handle, full))
    return handle
  }

  const flushAndSync = async (): Promise<void> => {
    const file = await flush()
    if (unsyncedBytes < SYNC_BYTES) return
    unsyncedBytes = 0
    await syncing
    syncing = inBackground(file.datasync())
  }

  return {
    add(chunk: Uint8Array): Promise<void> | undefined {
      batch.push(chunk)
      batchBytes += chunk.length
      return batchBytes >= BATCH_BYTES ? flushAndSync().catch(rejectAsPortError) : undefined
    },
    /** Everything added is on disk, though the file's name may not be. */
    async finish(): Promise<void> {
      try {
        const file = await flush()
        await writing
        await syncing
        await file.datasync()
        await file.close()
      } catch (error) {
        rejectAsPortError(error)
      }
    },
    /** Whatever its state is. */
    async abandon(): Promise<void> {
      await Promise.allSettled([writing, syncing])
      await handle?.close().catch(() => undefined)
      await rm(path, { force: true }).catch(() => undefined)
    },
  }
}

/** `writev` may write less than it was given, as on a disk that has become full. */
const writeAll = async (handle: FileHandle, chunks: readonly Uint8Array[]): Promise<void> => {
  let left = chunks.filter(({ length }) => length > 0)
  while (left.length > 0) {
    let { bytesWritten } = await handle.writev(left)
    const unwritten = left.findIndex(({ length }) => {
      if (bytesWritten < length) return true
      bytesWritten -= length
      return false
    })
    if (unwritten < 0) return
    left = left.slice(unwritten)
    left[0] = (left[0] ?? new Uint8Array()).subarray(bytesWritten)
  }
}

export const createStage = (layout: Layout, directories: Directories): BlobPort["stage"] => {
  /** Over what may be there already: equal bytes just written and synced are at least as good as the old ones. */
  const move = async (from: string, owner: string, address: string): Promise<void> => {
    const shard = layout.shardOf(owner, address)
    const move = async () => {
      await directories.ensure(shard, layout.owners)
      await rename(from, layout.blobOf(owner, address))
    }
    await move().catch(error => {
      if (codeOf(error) !== "ENOENT") throw error
      directories.forget(shard)
      return move()
    })
  }

  const stagedBlob = (
    path: string,
    owner: string,
    blob: Omit<StagedBlob, "publish" | "discard">,
  ): StagedBlob => {
    let state: "staged" | "moved" | "published" | "discarded" = "staged"
    return {
      ...blob,
      async publish() {
        if (state === "published") return
        if (state === "discarded") throw new PortError("refused", "it was discarded")
        try {
          if (state === "staged") await move(path, owner, blob.address)
          state = "moved"
          await directories.sync(layout.shardOf(owner, blob.address))
          state = "published"
        } catch (error) {
          rejectAsPortError(error)
        }
      },
      async discard() {
        if (state !== "staged") return
        state = "discarded"
        await rm(path, { force: true }).catch(() => undefined)
      },
    }
  }

  return async (owner, source, { hashes: names = [], ...options }) => {
    const path = `${layout.staged}/${randomUUID()}`
    const hashes = startHashes(names)
    const file = createBatchedFile(path)
    try {
      const bytes = await drain(source, options, chunk => {
        // Before the write, of which it must not wait: the two use different processors.
        hashes.update(chunk)
        return file.add(chunk)
      })
      await file.finish()
      const { sha256, asked } = hashes.digests()
      return stagedBlob(path, owner, { address: sha256.toString("hex"), bytes, hashes: asked })
    } catch (error) {
      await file.abandon()
      throw error
    }
  }
}
