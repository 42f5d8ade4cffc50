/** What the endurance tests of the local engine share: banks of a version, points that are marked, killed servers. */

import { readdirSync, readlinkSync } from "node:fs"
import { realpath } from "node:fs/promises"
import { join } from "node:path"
import type { TestContext } from "node:test"
import { postgresProcessesOf, signalProcess } from "../../../../../kernel/db/embedded/processes.ts"
import { eventually } from "../../../../../testing/eventually.ts"
import { created, newCredentials, type Subject } from "../../../conformance/fixture.ts"
import type { EnginePort, PgVersion, RecoveryPoint } from "../../../port.ts"
import {
  assertHolds,
  auditBank,
  type BankLoad,
  connectAs,
  type Journal,
  type Mark,
  markOf,
  openBank,
} from "./bank.ts"

/** A name for a copy, with passwords of its own. */
export const copyOf = ({ ref }: Subject): Subject => ({
  ref: { ...ref, id: crypto.randomUUID() },
  credentials: newCredentials(),
})

export const hasHistory = (port: EnginePort, { ref }: Subject): Promise<Date> =>
  eventually("the history", async () => (await port.window(ref)).earliest)

/** A bank of a version, with its history begun. */
export const newBank = async (port: EnginePort, pgVersion: PgVersion): Promise<Subject> => {
  const capabilities = { ...port.capabilities, versions: [pgVersion] }
  const subject = await created({ port: { ...port, capabilities } })
  await hasHistory(port, subject)
  await openBank(port, subject)
  return subject
}

/** A point, and what must and what must not be in a copy from it. */
export interface Marked {
  readonly point: RecoveryPoint
  readonly before: Mark
  readonly after: Mark
}

export const markTime = async ({ journal }: BankLoad): Promise<Marked> => {
  const before = markOf(journal)
  const time = new Date(Date.now() + 1)
  await eventually("the next millisecond", async () => Date.now() > time.getTime())
  return { point: { kind: "time", time }, before, after: markOf(journal) }
}

export const markLsn = async (port: EnginePort, subject: Subject, { journal }: BankLoad): Promise<Marked> => {
  const client = await connectAs(port, subject)
  const before = markOf(journal)
  const { rows } = await client.query("SELECT pg_current_wal_insert_lsn() AS lsn")
  const after = markOf(journal)
  await client.end()
  return { point: { kind: "lsn", lsn: rows[0].lsn }, before, after }
}

/** Copies a bank at a marked point, or its newest state when there is none, and looks at every page of the copy. */
export const auditedCopy = async (
  t: TestContext,
  port: EnginePort,
  { source, journal, marked }: { source: Subject; journal: Journal; marked?: Marked | undefined },
): Promise<Subject> => {
  const target = copyOf(source)
  const before = marked?.before ?? markOf(journal)
  const started = performance.now()
  const { lsn } = await port.branch(
    ...([source.ref, target.ref, marked?.point ?? { kind: "head" as const }, target.credentials] as const),
  )
  const tookMs = Math.round(performance.now() - started)
  const after = marked?.after ?? markOf(journal)
  const found = await auditBank(port, target)
  t.diagnostic(`copy at ${marked?.point.kind ?? "head"} ${lsn}: ${tookMs} ms, ${found.size} transfers`)
  assertHolds(found, journal, { before, after })
  return target
}

/** As PostgreSQL's processes have it: without links. */
export const clusterOf = (dataDir: string, { ref }: Subject): Promise<string> =>
  realpath(join(dataDir, "databases", "volumes", ref.id, "data"))

/** Ends a volume's processes the hard way: all of them, or only the postmaster, whose children outlive it a while. */
export const killServer = async (cluster: string, who: "postmaster" | "all"): Promise<void> => {
  const processes = postgresProcessesOf(cluster)
  // Children are started later, so they have higher numbers; those wrap around, which a test cannot meet often.
  const [postmaster] = processes.toSorted((one, other) => one - other)
  for (const pid of who === "all" ? processes : [postmaster ?? 0]) if (pid > 0) signalProcess(pid, "SIGKILL")
}

/** Processes of any kind that work in a folder. */
export const processesIn = (folder: string): readonly string[] =>
  readdirSync("/proc")
    .filter(name => /^\d+$/.test(name))
    .filter(pid => {
      try {
        return readlinkSync(`/proc/${pid}/cwd`).startsWith(`${folder}/`)
      } catch {
        return false
      }
    })
