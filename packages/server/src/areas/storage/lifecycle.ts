/** Carries out the lifecycle rules of buckets: once a day, right after the midnight to which they count. */

import type { PlatformEvents } from "../../core/platform-events/platform-events.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Database } from "../../kernel/db/database.ts"
import { isFault } from "../../kernel/fault.ts"
import type { ScheduleDefinition } from "../../kernel/jobs/jobs.ts"
import type { Logger } from "../../kernel/log.ts"
import {
  expiryOf,
  isMarkerOver,
  isUploadOver,
  isVersionOver,
  type Judged,
  type KeyRange,
  rangesOf,
} from "./rules/lifecycle.ts"
import { type FoundVersion, lifecycleStore, type RuledBucket } from "./store/lifecycle.ts"
import { dropUpload } from "./store/uploads.ts"

const DAY_MS = 86_400_000
const TIMEOUT_MS = 20 * 3_600_000
const BUCKETS_A_PAGE = 100
/** A deletion is one transaction, whose locks users of these keys wait for. */
const PAGE = 500

export interface LifecycleNeeds {
  readonly database: Database
  readonly platformEvents: PlatformEvents
  readonly clock: Clock
  readonly log: Logger
}

interface Walk {
  readonly bucket: RuledBucket
  readonly now: Date
  readonly signal: AbortSignal
}

/** Reads page after page until the last one, or until `act` says that it is no use to go on. */
const inPages = async <Row>(
  signal: AbortSignal,
  read: (last: Row | undefined, limit: number) => Promise<readonly Row[]>,
  act: (rows: readonly Row[]) => Promise<boolean>,
): Promise<boolean> => {
  let last: Row | undefined
  for (;;) {
    signal.throwIfAborted()
    const rows = await read(last, PAGE)
    if (!(await act(rows))) return false
    last = rows.at(-1)
    if (rows.length < PAGE) return true
  }
}

/** Tells of the versions of a bucket, in their order, which are over. What it has seen of a key counts for the next page. */
const createVersionJudge = ({ bucket: { lifecycle }, now }: Walk) => {
  let previous: FoundVersion | undefined
  let newer = 0
  return (version: FoundVersion): "marker" | "older" | "stays" => {
    const isSameKey = previous?.key === version.key
    const since = isSameKey ? previous?.lastModified : version.currentModified
    newer = isSameKey ? newer : 0
    previous = version
    if (!since) return isMarkerOver(lifecycle, version, now.getTime()) ? "marker" : "stays"
    const isOver = isVersionOver(lifecycle, { ...version, since, newer }, now.getTime())
    newer += 1
    return isOver ? "older" : "stays"
  }
}

const createWalks = (needs: LifecycleNeeds) => {
  const store = lifecycleStore(needs)

  const walkObjects = ({ bucket, now, signal }: Walk, range: KeyRange) => {
    const isOver = (object: Judged) =>
      (expiryOf(bucket.lifecycle, object)?.at ?? Number.POSITIVE_INFINITY) <= now.getTime()
    return inPages<Judged>(
      signal,
      (last, limit) => store.objects(bucket, range, last?.key, limit),
      async rows => {
        const keys = rows.filter(isOver).map(({ key }) => key)
        return keys.length === 0 || (await store.deleteObjects(bucket, keys, now, isOver))
      },
    )
  }

  const walkVersions = (walk: Walk, range: KeyRange) => {
    const { bucket, now, signal } = walk
    const judge = createVersionJudge(walk)
    return inPages<FoundVersion>(
      signal,
      (last, limit) => store.versions(bucket, range, last, limit),
      async rows => {
        const judged = rows.map(version => ({ version, as: judge(version) }))
        const those = (kind: "marker" | "older") =>
          judged.flatMap(({ version, as }) => (as === kind ? [version] : []))
        // The older first: then nothing is behind some of the markers.
        for (const [kind, versions] of [
          ["older", those("older")],
          ["markers", those("marker")],
        ] as const) {
          if (versions.length > 0 && !(await store.deleteVersions(bucket, versions, kind, now))) return false
        }
        return true
      },
    )
  }

  const walkUploads = ({ bucket, now, signal }: Walk, range: KeyRange) =>
    inPages<{ readonly id: string; readonly key: string; readonly createdAt: Date }>(
      signal,
      (last, limit) => store.uploads(bucket, range, last, limit),
      async rows => {
        for (const upload of rows) {
          if (!isUploadOver(bucket.lifecycle, upload, now.getTime())) continue
          await dropUpload(needs.database.pool, bucket.project_id, upload.id, now).catch(error => {
            if (!isFault(error, "upload_not_found")) throw error
          })
        }
        return true
      },
    )

  return { store, walkObjects, walkVersions, walkUploads }
}

export const lifecycleSchedule = (needs: LifecycleNeeds): ScheduleDefinition => {
  const { clock, log } = needs
  const { store, walkObjects, walkVersions, walkUploads } = createWalks(needs)

  /** False when the rules changed meanwhile. */
  const carryOut = async (walk: Walk): Promise<boolean> => {
    const { lifecycle, versioning } = walk.bucket
    const expiring = rangesOf(
      lifecycle,
      rule => rule.expire_days !== undefined || rule.expire_at !== undefined,
    )
    for (const range of expiring) if (!(await walkObjects(walk, range))) return false
    const ofVersions = rangesOf(lifecycle, rule =>
      [rule.noncurrent_days, rule.expire_delete_markers, rule.expire_days, rule.expire_at].some(
        value => value !== undefined,
      ),
    )
    if (versioning !== "off")
      for (const range of ofVersions) if (!(await walkVersions(walk, range))) return false
    const aborting = rangesOf(lifecycle, rule => rule.abort_uploads_days !== undefined)
    for (const range of aborting) await walkUploads(walk, range)
    return true
  }

  /** Rules that changed while they were carried out are carried out as they are then. */
  const follow = async (bucket: RuledBucket, signal: AbortSignal) => {
    let current: RuledBucket | undefined = bucket
    while (current && !(await carryOut({ bucket: current, now: new Date(clock.now()), signal })))
      current = await store.find(bucket)
  }

  return {
    name: "storage.lifecycle",
    every: after => new Date((Math.floor(after.getTime() / DAY_MS) + 1) * DAY_MS),
    timeoutMs: TIMEOUT_MS,
    async run(_tick, { signal }) {
      let last: RuledBucket | undefined
      for (;;) {
        const page = await store.buckets(last?.id, BUCKETS_A_PAGE)
        for (const bucket of page) {
          await follow(bucket, signal).catch(error => {
            signal.throwIfAborted()
            const { project_id, name } = bucket
            log.error(
              { err: error, project_id, bucket: name },
              "carrying out lifecycle rules failed; will retry",
            )
          })
        }
        last = page.at(-1)
        if (page.length < BUCKETS_A_PAGE) return
      }
    },
  }
}
