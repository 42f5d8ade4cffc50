import { readFile } from "node:fs/promises"
import { setTimeout as delay } from "node:timers/promises"
import { syncFileSystem } from "./copy.ts"
import type { Layout } from "./layout.ts"
import type { Records } from "./records.ts"
import type { Volume } from "./volume.ts"

/** Copies whose files go to disk after somebody uses them already. */
export interface Deferral extends AsyncDisposable {
  /** This start of the machine; undefined where it cannot be told from others, and nothing is deferred. */
  readonly bootId: string | undefined
  /** Brings the files of a copy to disk, in the background. Does nothing while that goes on. */
  sync(volume: Volume): void
}

/** Until then every process of the server has heard that it waits for the disk. */
const HEARD_MS = 1_000

export const createDeferral = async (needs: {
  layout: Layout
  records: Records
  log: (line: string) => void
}): Promise<Deferral> => {
  const { layout, records, log } = needs
  const bootId = await readFile("/proc/sys/kernel/random/boot_id", "utf8").then(
    text => text.trim(),
    () => undefined,
  )
  const syncing = new Map<string, Promise<void>>()
  const ending = new AbortController()

  const bringToDisk = async (volume: Volume) => {
    const { id } = volume.record
    await delay(HEARD_MS, undefined, { signal: ending.signal })
    await syncFileSystem(layout.root)
    // A new image must not write the record at the same time.
    await volume.alone(async () => {
      const known = await records.find(id)
      if (!known) return
      const { unsyncedSince: _, ...synced } = known
      await records.save(synced)
    })
  }

  return {
    bootId,
    sync(volume) {
      const { id } = volume.record
      if (syncing.has(id)) return
      const done = bringToDisk(volume)
        .catch(error => {
          if (!ending.signal.aborted) log(`${id}: its files are not on disk for certain yet: ${error}`)
        })
        .finally(() => syncing.delete(id))
      syncing.set(id, done)
    },
    async [Symbol.asyncDispose]() {
      ending.abort()
      await Promise.all(syncing.values())
    },
  }
}
