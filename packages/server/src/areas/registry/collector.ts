/** Gives back the space of what nobody refers to any more, beside pushes and without a time in which nothing may be pushed. */
import { REGISTRY_UNREFERENCED_HOURS, REGISTRY_UPLOAD_HOURS } from "@svc/contract"
import type { Clock } from "../../kernel/clock.ts"
import type { Database } from "../../kernel/db/database.ts"
import { every } from "../../kernel/every.ts"
import type { Logger } from "../../kernel/log.ts"
import type { BlobPort } from "../../ports/blob/port.ts"
import { sweepStore } from "./store/sweeps.ts"

const SWEEP_EVERY_MS = 60_000
const HOUR_MS = 3_600_000
/** Readers that found a blob before it was released have this long to read it. */
const RELEASED_MS = 6 * HOUR_MS
/** A deleted project's images go after this time. */
const DELETED_MS = 7 * 24 * HOUR_MS
const BATCH = 500

export interface CollectorNeeds {
  readonly database: Database
  readonly blob: BlobPort
  readonly clock: Clock
  readonly log: Logger
}

export const createCollector = ({ database, blob, clock, log }: CollectorNeeds): AsyncDisposable => {
  const sweeps = sweepStore(database)
  const ago = (ms: number) => new Date(clock.now() - ms)
  const now = () => new Date(clock.now())
  const unreferenced = () => ago(REGISTRY_UNREFERENCED_HOURS * HOUR_MS)

  const removeFiles = async (): Promise<number> => {
    const found = await sweeps.released(ago(RELEASED_MS), BATCH)
    for (const store of found) {
      const files = await sweeps.filesOf(store)
      await blob.remove(
        store.store_id,
        files.map(({ address }) => address),
      )
      await sweeps.forget(store)
    }
    return found.length
  }

  /** Each in batches, and in this order: what one lets go the next finds. */
  const steps: Readonly<Record<string, () => Promise<number>>> = {
    uploads: () => sweeps.endUploads(ago(REGISTRY_UPLOAD_HOURS * HOUR_MS), now(), BATCH),
    projects: () => sweeps.forgetProjects(ago(DELETED_MS), BATCH),
    links: () => sweeps.unlink(unreferenced(), BATCH),
    blobs: () => sweeps.releaseBlobs(unreferenced(), now(), BATCH),
    repositories: () => sweeps.dropRepositories(unreferenced(), BATCH),
    files: removeFiles,
  }

  const sweep = async () => {
    for (const [step, act] of Object.entries(steps)) {
      try {
        while ((await act()) === BATCH);
      } catch (error) {
        log.error({ err: error, step }, "cleanup of the registry failed; will retry")
      }
    }
  }
  return every(clock, SWEEP_EVERY_MS, sweep)
}
