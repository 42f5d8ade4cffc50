import { readFile } from "node:fs/promises"
import { setTimeout as delay } from "node:timers/promises"
import { syncFileSystem } from "./copy.ts"
import type { Layout } from "./layout.ts"
import type { Records, VolumeRecord } from "./records.ts"
import type { Volume } from "./volume.ts"

/** Copies whose files go to disk after somebody uses them already. */
export interface Deferral extends AsyncDisposable {
  /** This start of the machine; undefined where it cannot be told from others, and nothing is deferred. */
  readonly bootId: string | undefined
  /** Brings the files of a copy to disk, in the background. Does nothing while that goes on. */
  sync(volume: Volume): void
  /** Before a volume is used: makes it again if the machine ended before its files were on disk. */
  settle(volume: Volume, record: VolumeRecord): Promise<void>
}

/** Until then every process of the server has heard that it waits for the disk. */
const HEARD_MS = 1_000

export const createDeferral = async (needs: {
  layout: Layout
  records: Records
  /** Makes a volume again from its history. */
  rebuild: (volume: Volume) => Promise<void>
  log: (line: string) => void
}): Promise<Deferral> => {
  const { layout, records, rebuild, log } = needs
  const bootId = await readFile("/proc/sys/kernel/random/boot_id", "utf8").then(
    text => text.trim(),
    () => undefined,
  )
  const syncing = new Map<string, Promise<void>>()
  const rebuilding = new Map<string, Promise<void>>()
  const ending = new AbortController()

  const markSynced = async (id: string) => {
    const known = await records.find(id)
    if (!known) return
    const { unsyncedSince: _, ...synced } = known
    await records.save(synced)
  }

  const bringToDisk = async (volume: Volume) => {
    const { id } = volume.record
    await delay(HEARD_MS, undefined, { signal: ending.signal })
    await syncFileSystem(layout.root)
    // A new image must not write the record at the same time.
    await volume.alone(() => markSynced(id))
  }

  const makeAgain = async (volume: Volume) => {
    const { id } = volume.record
    log(`${id}: made again from its history, because the machine ended while it was new`)
    await rebuild(volume)
    await markSynced(id)
  }

  const sync = (volume: Volume) => {
    const { id } = volume.record
    if (syncing.has(id)) return
    const done = bringToDisk(volume)
      .catch(error => {
        if (!ending.signal.aborted) log(`${id}: its files are not on disk for certain yet: ${error}`)
      })
      .finally(() => syncing.delete(id))
    syncing.set(id, done)
  }

  return {
    bootId,
    sync,
    async settle(volume, { id, unsyncedSince }) {
      if (unsyncedSince === undefined) return
      if (unsyncedSince === bootId) return sync(volume)
      const known = rebuilding.get(id) ?? makeAgain(volume).finally(() => rebuilding.delete(id))
      rebuilding.set(id, known)
      await known
    },
    async [Symbol.asyncDispose]() {
      ending.abort()
      await Promise.all(syncing.values())
    },
  }
}
