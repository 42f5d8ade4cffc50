/** Reads sources in the background: what is under way survives the process, and continues where it was. */
import type { Clock } from "../../kernel/clock.ts"
import type { Database, Db } from "../../kernel/db/database.ts"
import { newId } from "../../kernel/id.ts"
import type { Job, JobContext, Jobs } from "../../kernel/jobs/jobs.ts"
import type { SearchPort } from "../../ports/search/port.ts"
import { entryStore } from "./entries.ts"
import { type RunRecord, runStore } from "./runs.ts"
import { type ReadSource, SourceProblem } from "./sources/reading.ts"
import { allSources, type SourceRecord, type SourceType, sourceStore } from "./store.ts"
import type { Writer } from "./writer.ts"

const READ_QUEUE = "search.read"
const REMOVE_QUEUE = "search.remove"
const TICK = "search.tick"
const TICK_MS = 60_000
const BATCH = 100
const RUNS_KEPT = 50
const REMOVED_AT_ONCE = 500
const RUN_MS_MAX = 6 * 3_600_000
const RETRIES_MS = [5_000, 60_000, 300_000, 1_800_000]

interface RunPayload {
  readonly projectId: string
  readonly sourceId: string
  readonly runId: string
}

type RemovePayload = Omit<RunPayload, "runId">

interface SourceKey {
  readonly id: string
  readonly project_id: string
  readonly organization_id: string
}

export interface Ingest {
  /** Enqueues, on the caller's transaction, a reading of each source that is not being read. */
  begin(db: Db, sources: readonly SourceKey[], now: Date): Promise<{ runId: string; runs: RunRecord[] }>
  /** Hides a source at once and removes its documents later. False when there is none. */
  remove(db: Db, source: SourceKey, now: Date): Promise<boolean>
}

export interface IngestNeeds {
  readonly database: Database
  readonly jobs: Jobs
  readonly clock: Clock
  readonly index: SearchPort
  readonly writer: Writer
  readonly readers: Readonly<Record<Exclude<SourceType, "inline">, ReadSource>>
}

/** Another worker has the run now, or its source is gone. */
class Superseded extends Error {
  override readonly name = "Superseded"
}

const createReading = ({ database, clock, writer, readers }: IngestNeeds) => {
  const { db } = database
  const runs = runStore(db)
  const sources = sourceStore(db)

  const advance = async (run: RunRecord, progress: Parameters<typeof runs.advance>[1]) => {
    if (!(await runs.advance(run, progress))) throw new Superseded()
  }

  /** Documents that a whole reading has not met. */
  const removeVanished = async (run: RunRecord, signal: AbortSignal) => {
    const at = { projectId: run.project_id, sourceId: run.source_id }
    for (;;) {
      signal.throwIfAborted()
      const ids = await entryStore(db).unseen(at.projectId, at.sourceId, run.id, REMOVED_AT_ONCE)
      if (ids.length === 0) return
      const removed = await writer.remove(at, ids)
      if (removed === undefined) throw new Superseded()
      await advance(run, { cursor: null, seen: 0, written: 0, unchanged: 0, removed, errors: [] })
    }
  }

  const readAll = async (source: SourceRecord, run: RunRecord, signal: AbortSignal) => {
    const read = source.type === "inline" ? undefined : readers[source.type]
    if (!read) throw new SourceProblem("an inline source has nothing to read")
    const at = { projectId: source.project_id, sourceId: source.id }
    let { cursor } = run
    do {
      signal.throwIfAborted()
      const { items, next } = await read(source, cursor, signal)
      const outcome = await writer.put(at, items, run.id)
      if (!outcome) throw new Superseded()
      const { written, unchanged, unreadable } = outcome
      const errors = unreadable.map(({ id, problem }) => ({ document_id: id, message: problem }))
      await advance(run, { cursor: next, seen: items.length, written, unchanged, removed: 0, errors })
      cursor = next
    } while (cursor !== null)
    await removeVanished(run, signal)
  }

  const finish = async (run: RunRecord, error: string | null) => {
    const now = new Date(clock.now())
    await sources.ran(run.project_id, run.source_id, { last_error: error })
    await runs.finish(run, error === null ? "succeeded" : "failed", error, now)
    await runs.prune(run.project_id, run.source_id, RUNS_KEPT)
  }

  return async ({ payload, isLastAttempt }: Job<RunPayload>, { signal }: JobContext): Promise<void> => {
    const { projectId, sourceId, runId } = payload
    const source = await sources.find(projectId, sourceId)
    const run = source && (await runs.take(projectId, runId, sourceId, new Date(clock.now())))
    if (!run) return
    try {
      await readAll(source, run, signal)
    } catch (error) {
      if (error instanceof Superseded) return
      if (error instanceof SourceProblem) return finish(run, error.message)
      if (isLastAttempt && !signal.aborted) await finish(run, "it could not be read, in several attempts")
      throw error
    }
    await finish(run, null)
  }
}

export const createIngest = (needs: IngestNeeds): Ingest => {
  const { database, jobs, clock, index } = needs
  const { db } = database

  const begin: Ingest["begin"] = async (db, sources, now) => {
    const runId = newId(now.getTime())
    const started: RunRecord[] = []
    for (const { id, project_id, organization_id } of sources) {
      const run = await runStore(db).begin(project_id, runId, id, now)
      if (!run) continue
      started.push(run)
      if (!run.isNew) continue
      await sourceStore(db).ran(project_id, id, { last_run_at: now })
      const payload: RunPayload = { projectId: project_id, sourceId: id, runId }
      await jobs.enqueue(db, { queue: READ_QUEUE, tenantId: organization_id, orderingKey: id, payload })
    }
    return { runId, runs: started }
  }

  const remove: Ingest["remove"] = async (db, { id, project_id, organization_id }, now) => {
    if (!(await sourceStore(db).markDeleted(project_id, id, now))) return false
    const payload: RemovePayload = { projectId: project_id, sourceId: id }
    await jobs.enqueue(db, { queue: REMOVE_QUEUE, tenantId: organization_id, payload })
    return true
  }

  jobs.define<RunPayload>({
    ...{ name: READ_QUEUE, concurrency: 2, timeoutMs: RUN_MS_MAX, retries: RETRIES_MS },
    run: createReading(needs),
  })
  jobs.define<RemovePayload>({
    ...{ name: REMOVE_QUEUE, concurrency: 1, timeoutMs: RUN_MS_MAX },
    run: async ({ payload: { projectId, sourceId } }, { signal }) => {
      while ((await index.removeSource(projectId, sourceId, REMOVED_AT_ONCE)) === REMOVED_AT_ONCE) {
        signal.throwIfAborted()
      }
      await entryStore(db).deleteAll(projectId, sourceId)
      await sourceStore(db).forget(projectId, sourceId)
    },
  })
  jobs.schedule({
    ...{ name: TICK, every: TICK_MS },
    run: async () => {
      const now = new Date(clock.now())
      const sources = allSources(db)
      for (const source of await sources.orphaned(BATCH))
        await database.transaction(tx => remove(tx, source, now))
      for (const source of await sources.due(now, BATCH))
        await database.transaction(tx => begin(tx, [source], now))
    },
  })
  return { begin, remove }
}
