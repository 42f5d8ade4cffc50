import { createMutex } from "../../../kernel/concurrency/semaphore.ts"
import type { Database } from "../../../kernel/db/database.ts"
import type { Logger } from "../../../kernel/log.ts"
import type { EnginePort } from "../../../ports/engine/port.ts"
import { databaseFull, invalidSql } from "../../../services/postgres/failures.ts"
import { lend } from "../../../services/postgres/lend.ts"
import type { Session, Sessions } from "../../../services/postgres/sessions.ts"
import type { Target } from "../../../services/postgres/target.ts"
import { callEngine } from "../call-engine.ts"
import type { Compute } from "../compute.ts"
import type { Directory, ReadyBranch } from "../directory.ts"
import type { Frees } from "../offers.ts"
import { openPool } from "../sessions-pool.ts"
import { databaseStore } from "../store.ts"
import { diskStore } from "./disk-store.ts"
import type { DiskQuota } from "./quota.ts"

/** Lets a tenant free space in a database that is read-only for its size: one statement at a time, watched. */
export interface Freeing {
  /** Sessions for one such statement, which throw `invalid_sql` when only `DROP` is left. */
  sessionsFor(frees: Frees): Sessions
}

const READ_ONLY_TRANSACTION = "25006"
const WATCH_EVERY_MS = 250
/** Visibility maps and the like of a DELETE; more is the work of a trigger. */
const GROWTH_BYTES_MAX = 16 * 1024 ** 2

const onlyDrop = () =>
  invalidSql(
    "an earlier statement that should have freed space made the database larger, so only DROP is left",
    { sqlstate: READ_ONLY_TRANSACTION },
  )

export const createFreeing = (needs: {
  database: Database
  engine: EnginePort
  directory: Directory
  compute: Compute
  quota: DiskQuota
  log: Logger
}): Freeing => {
  const { database, engine, directory, compute, quota, log } = needs
  const disk = diskStore(database.db)

  const dataBytes = async ({ volume }: ReadyBranch) => (await engine.size(volume)).dataBytes

  /** Calls `end` once the data have grown by more than they were: VACUUM FULL writes a table anew. */
  const watch = (branch: ReadyBranch, before: number, end: () => void): Disposable => {
    const look = async () => {
      if ((await dataBytes(branch)) > 2 * before + GROWTH_BYTES_MAX) end()
    }
    const timer = setInterval(() => void look().catch(() => undefined), WATCH_EVERY_MS)
    return { [Symbol.dispose]: () => clearInterval(timer) }
  }

  const settle = async (branch: ReadyBranch, before: number) => {
    const { organizationId, databaseId } = branch
    if ((await dataBytes(branch)) > before + GROWTH_BYTES_MAX)
      await databaseStore(database.db).updateDatabase(organizationId, databaseId, ["active"], {
        only_drop_frees: true,
      })
    await quota.measure(branch)
  }

  const use = async <Result>(
    target: Target,
    frees: Frees,
    work: (session: Session) => Promise<Result>,
    cleaned: boolean,
  ): Promise<Result> => {
    const branch = await directory.find(target)
    if (!branch) throw databaseFull()
    if (frees === "rows" && (await disk.onlyDropFrees(branch.organizationId, branch.databaseId)))
      throw onlyDrop()
    await compute.suspend(branch)
    const before = await dataBytes(branch)
    try {
      return await callEngine(() =>
        engine.whileWritable(branch.volume, async endpoint => {
          const pool = openPool(branch, "owner", endpoint)
          const client = await pool.connect()
          const { rows } = await client.query<{ pid: string }>("SELECT pg_backend_pid() AS pid")
          using _watched = watch(branch, before, () => {
            void pool.query("SELECT pg_terminate_backend($1)", [rows[0]?.pid]).catch(() => undefined)
          })
          try {
            return await lend({ client, wakeMs: endpoint.wakeMs }, work, cleaned)
          } finally {
            await pool.end()
          }
        }),
      )
    } finally {
      await settle(branch, before).catch(error =>
        log.warn({ err: error, volume: branch.volume.id }, "measuring a database after freeing space failed"),
      )
    }
  }

  /** One statement at a time: the next one must know what the one before has done. */
  const mutex = createMutex()

  return {
    sessionsFor: frees => ({
      use: (target, _role, work, { cleaned = false } = {}) =>
        mutex.run(() => use(target, frees, work, cleaned)),
    }),
  }
}
