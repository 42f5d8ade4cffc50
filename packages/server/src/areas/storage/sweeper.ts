/** What the area does by itself: gives space back, looks after what it keeps, and tells what that is. */

import type { BlobKeepers } from "../../core/blob-keepers.ts"
import type { BackgroundMeters } from "../../core/meters/meters.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Database } from "../../kernel/db/database.ts"
import { every } from "../../kernel/every.ts"
import type { Logger } from "../../kernel/log.ts"
import type { BlobPort } from "../../ports/blob/port.ts"
import type { Claims } from "./claims.ts"
import { sweepStore } from "./store/sweeps.ts"
import { dropUpload } from "./store/uploads.ts"

const SWEEP_EVERY_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Readers that found an object before it was overwritten have this long to open it; so have copies under way. */
const RELEASED_MS = HOUR_MS
/** Between the publication of a blob and its row lies one statement; after this time its writer is dead. */
const ORPHANED_MS = 6 * HOUR_MS
const STAGED_MS = 6 * HOUR_MS
/** A deleted project's objects go after this time. */
const DELETED_MS = 7 * DAY_MS
const BATCH = 500
/** Checked in an hour, unless these bytes come first: a month for 720,000 blobs. */
const VERIFIED_MAX = 1000
const VERIFIED_BYTES_MAX = 4 * 1024 ** 3
const SIGNING_KEYS_MS = 98 * DAY_MS
const GB = 1024 ** 3

export interface SweeperNeeds {
  readonly database: Database
  readonly blob: BlobPort
  readonly blobKeepers: BlobKeepers
  readonly claims: Claims
  readonly clock: Clock
  readonly log: Logger
  readonly meters: BackgroundMeters
}

export interface Sweeper extends AsyncDisposable {
  /** Blobs that were found not to be what was written, at the last look. */
  damaged(): number
}

/** Gives the space of what nobody refers to any more back. */
const createCollector = ({ database, blob, blobKeepers, claims, clock, log }: SweeperNeeds) => {
  const sweeps = sweepStore(database)

  /** The row is locked while the file goes, so that no other process takes it for one that is there. */
  const collectReleased = async () => {
    for (;;) {
      const found = await sweeps.released(new Date(clock.now() - RELEASED_MS), BATCH)
      let collected = 0
      for (const { project_id, address } of found) {
        await claims.alone(project_id, address, async () => {
          if (await sweeps.collect(project_id, address, () => blob.remove(project_id, [address])))
            collected += 1
        })
      }
      if (found.length < BATCH || collected === 0) return
    }
  }

  const removeOrphans = async (batch: readonly { owner: string; address: string }[]) => {
    for (const { owner, address } of await blobKeepers.unknown(batch)) {
      await claims.alone(owner, address, async () => {
        const still = await blobKeepers.unknown([{ owner, address }])
        if (still.length > 0) await blob.remove(owner, [address])
      })
      log.warn({ project_id: owner, address }, "orphaned blob removed")
    }
  }

  const collectOrphans = async () => {
    const before = clock.now() - ORPHANED_MS
    let batch: { owner: string; address: string }[] = []
    for await (const { owner, address, publishedAt } of blob.list()) {
      if (publishedAt >= before) continue
      batch.push({ owner, address })
      if (batch.length < BATCH) continue
      await removeOrphans(batch)
      batch = []
    }
    await removeOrphans(batch)
  }

  return {
    collectReleased,
    collectOrphans,
    sweepStaged: async () => void (await blob.sweep(clock.now() - STAGED_MS)),
  }
}

/** Reads blobs again, those first that nobody looked at for longest. */
const createScrubber = ({ database, blob, clock, log }: SweeperNeeds) => {
  const sweeps = sweepStore(database)
  return async () => {
    let bytes = 0
    for (const row of await sweeps.oldestVerified(VERIFIED_MAX)) {
      const condition = await blob.verify(row.project_id, row.address)
      await sweeps.verified(row.project_id, row.address, condition, new Date(clock.now()))
      if (condition !== "intact")
        log.error(
          { project_id: row.project_id, address: row.address, condition },
          "blob is missing or corrupt",
        )
      bytes += row.bytes
      if (bytes > VERIFIED_BYTES_MAX) return
    }
  }
}

/** Uploads that are over, and objects of projects that are gone. */
const createEnder = ({ database, clock }: SweeperNeeds) => {
  const sweeps = sweepStore(database)
  const now = () => new Date(clock.now())

  const endUploads = async () => {
    for (const { project_id, id } of await sweeps.expiredUploads(now(), BATCH))
      await dropUpload(database.pool, project_id, id, now())
  }

  const followProjects = async () => {
    for (const { project_id, name } of await sweeps.orphanedBuckets(
      new Date(clock.now() - DELETED_MS),
      BATCH,
    )) {
      while ((await sweeps.purge(project_id, name, BATCH, now())) > 0);
      await sweeps.deleteBucket(project_id, name, now())
    }
  }

  return { endUploads, followProjects }
}

export const createSweeper = (needs: SweeperNeeds): Sweeper => {
  const { database, clock, log, meters } = needs
  const sweeps = sweepStore(database)
  const { collectReleased, collectOrphans, sweepStaged } = createCollector(needs)
  const scrub = createScrubber(needs)
  const { endUploads, followProjects } = createEnder(needs)
  let damaged = 0

  const look = async () => {
    damaged = await sweeps.countDamaged()
  }

  /** A level is stored as its share of the day, so that the sum of a day is its average. */
  const meterLevels = async () => {
    const at = new Date(clock.now())
    for (const { organization_id, project_id, bytes } of await sweeps.levels()) {
      const quantity = (bytes / GB) * (HOUR_MS / DAY_MS)
      meters.count({
        organizationId: organization_id,
        projectId: project_id,
        metric: "storage_gb",
        quantity,
        at,
      })
    }
  }

  /** What many processes share, one of them does. */
  const chore = (name: string, everyMs: number, act: () => Promise<void>) => async () => {
    if (await sweeps.takeChore(name, new Date(clock.now()), everyMs)) await act()
  }

  const attempt = async (name: string, act: () => Promise<void>) => {
    try {
      await act()
    } catch (error) {
      log.error({ err: error, step: name }, "cleanup of storage failed; will retry")
    }
  }

  const steps: Readonly<Record<string, () => Promise<void>>> = {
    uploads: endUploads,
    projects: followProjects,
    released: collectReleased,
    staged: chore("staged", HOUR_MS, sweepStaged),
    orphans: chore("orphans", DAY_MS, collectOrphans),
    scrub: chore("scrub", HOUR_MS, scrub),
    levels: chore("levels", HOUR_MS, meterLevels),
    signing_keys: () => sweeps.forgetSigningKeys(new Date(clock.now() - SIGNING_KEYS_MS)),
    damaged: look,
  }

  const sweep = async () => {
    for (const [name, act] of Object.entries(steps)) await attempt(name, act)
  }

  const timer = every(clock, SWEEP_EVERY_MS, sweep)
  return {
    damaged: () => damaged,
    [Symbol.asyncDispose]: () => timer[Symbol.asyncDispose](),
  }
}
