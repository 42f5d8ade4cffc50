import { sql } from "kysely"
import type { Clock } from "../../kernel/clock.ts"
import type { Database } from "../../kernel/db/database.ts"
import type { QueueDefinition, ScheduleDefinition } from "../../kernel/jobs/jobs.ts"
import type { PersonalData, PersonalTable } from "../../kernel/personal-data.ts"
import type { BlobPort } from "../../ports/blob/port.ts"
import { archiveOf } from "./personal/archive.ts"
import { createStatements, type Statements, type Subject } from "./personal/statements.ts"
import { type ReportLine, type RequestRow, requestStore } from "./requests-store.ts"

export const FULFIL = "compliance.fulfil"
export const EXPIRE = "compliance.expire"

const ARCHIVE_BYTES_MAX = 1024 ** 3
const DAY_MS = 86_400_000
const ARCHIVE_DAYS = 7
const TIMEOUT_MS = 3_600_000
const RETRY_MS = 5_000
const RETRY_MS_MAX = 3_600_000

export interface FulfilmentNeeds {
  readonly database: Database
  readonly clock: Pick<Clock, "now">
  readonly blob: BlobPort
  /** What all areas declare. */
  readonly personalData: () => Promise<readonly PersonalData[]>
}

export interface FulfilmentJob {
  readonly organizationId: string
  readonly requestId: string
}

export interface Fulfilment {
  readonly queue: QueueDefinition<FulfilmentJob>
  readonly expiry: ScheduleDefinition
  /** The subject with everything that leads to them. */
  find(db: Database["db"], subject: Subject): Promise<Subject>
  correct(db: Database["db"], subject: Subject, corrections: readonly Correction[]): Promise<ReportLine[]>
}

export interface Correction {
  readonly field: "name" | "email"
  readonly value: string
}

interface Known {
  readonly tables: readonly PersonalTable[]
  readonly kept: readonly ReportLine[]
  readonly statements: Statements
}

export const subjectOf = (row: RequestRow): Subject => ({
  organizationId: row.organization_id,
  ids: row.subject_ids,
  emails: row.subject_emails,
})

/** Adds rows to the line of a table: a job that was interrupted goes on with what it had told. */
const withRows = (
  report: readonly ReportLine[],
  table: string,
  action: ReportLine["action"],
  rows: number,
) => {
  const known = report.find(line => line.table === table)
  return [
    ...report.filter(line => line !== known),
    { table, action, rows: (known?.rows ?? 0) + rows } satisfies ReportLine,
  ]
}

export const createFulfilment = ({ database, clock, blob, personalData }: FulfilmentNeeds): Fulfilment => {
  const { db } = database
  const now = () => new Date(clock.now())
  let known: Promise<Known> | undefined

  const load = async (): Promise<Known> => {
    const all = await personalData()
    const tables = all.flatMap(({ tables }) => tables)
    const kept = all.flatMap(({ kept = [] }) =>
      kept.map(({ table, reason }) => ({ table, action: "kept" as const, rows: 0, reason })),
    )
    return { tables, kept, statements: createStatements(tables) }
  }
  const knowledge = (): Promise<Known> => {
    known ??= load()
    return known
  }

  /** Does a piece of the work in a transaction with its report, unless somebody has ended the request. */
  const step = (
    { organizationId, requestId }: FulfilmentJob,
    work: (
      tx: Database["db"],
      report: readonly ReportLine[],
    ) => Promise<{ report: ReportLine[]; more: boolean }>,
  ): Promise<boolean> =>
    database.transaction(async tx => {
      const requests = requestStore(tx)
      const row = await requests.findForUpdate(organizationId, requestId)
      if (row?.status !== "in_progress") return false
      const { report, more } = await work(tx, row.report as readonly ReportLine[])
      await requests.writeReport(organizationId, requestId, report)
      return more
    })

  const eraseTable = async (
    job: FulfilmentJob,
    subject: Subject,
    table: PersonalTable,
    signal: AbortSignal,
  ) => {
    const { statements } = await knowledge()
    const { erasure } = table
    const erase = async (tx: Database["db"], report: readonly ReportLine[]) => {
      if (erasure === "delete") {
        const { rows, more } = await statements.deleteSome(tx, table, subject)
        return { report: withRows(report, table.table, "deleted", rows), more }
      }
      if ("replace" in erasure) {
        const rows = await statements.replace(tx, table, subject, erasure.replace)
        return { report: withRows(report, table.table, "replaced", rows), more: false }
      }
      const rows = await statements.count(tx, table, subject)
      const line: ReportLine = { table: table.table, action: "kept", rows, reason: erasure.keep }
      return { report: [...report.filter(({ table: name }) => name !== table.table), line], more: false }
    }
    do signal.throwIfAborted()
    while (await step(job, erase))
  }

  const erase = async (job: FulfilmentJob, row: RequestRow, signal: AbortSignal) => {
    const { tables, kept } = await knowledge()
    for (const table of tables) await eraseTable(job, subjectOf(row), table, signal)
    await step(job, async (_, report) => {
      const told = report.filter(({ table }) => !kept.some(line => line.table === table))
      return { report: [...told, ...kept], more: false }
    })
    // Deleted rows stay in the files of the tables until they are vacuumed.
    for (const { table, erasure } of tables)
      if (erasure === "delete") await sql`VACUUM ${sql.table(table)}`.execute(db)
    await end(job, { subject_email: null, subject_ids: [], subject_emails: [] })
  }

  const give = async (job: FulfilmentJob, row: RequestRow, signal: AbortSignal) => {
    const { tables, statements, kept } = await knowledge()
    const subject = subjectOf(row)
    const source = archiveOf({ database, statements, tables }, subject, signal)
    const options = { bytesMax: ARCHIVE_BYTES_MAX, hashes: ["sha256"] as const, signal }
    const staged = await blob.stage(job.organizationId, source, options)
    const counts: ReportLine[] = []
    for (const table of tables)
      counts.push({
        table: table.table,
        action: "exported",
        rows: await statements.count(db, table, subject),
      })
    await step(job, async () => ({ report: [...counts, ...kept], more: false }))
    await staged.publish()
    await end(job, {
      archive_address: staged.address,
      archive_bytes: staged.bytes,
      archive_sha256: staged.hashes.sha256 ?? null,
      archive_expires_at: new Date(clock.now() + ARCHIVE_DAYS * DAY_MS),
    })
  }

  const end = ({ organizationId, requestId }: FulfilmentJob, change: Partial<RequestRow>) =>
    database.transaction(async tx => {
      const requests = requestStore(tx)
      const row = await requests.findForUpdate(organizationId, requestId)
      if (row?.status !== "in_progress") return
      const { report: _, requested_by: __, ...columns } = change
      await requests.update(organizationId, requestId, {
        ...columns,
        ...{ status: "completed", completed_at: now(), failure: null },
      })
    })

  const fulfil = async (job: FulfilmentJob, signal: AbortSignal) => {
    const row = await requestStore(db).find(job.organizationId, job.requestId)
    if (row?.status !== "in_progress") return
    if (row.kind === "erasure") await erase(job, row, signal)
    if (row.kind === "access") await give(job, row, signal)
  }

  return {
    queue: {
      name: FULFIL,
      concurrency: 2,
      perTenantConcurrency: 1,
      timeoutMs: TIMEOUT_MS,
      // Until it is done: what was promised to a person is not given up.
      retries: attempt => Math.min(RETRY_MS * 2 ** (attempt - 1), RETRY_MS_MAX),
      async run({ payload }, { signal }) {
        try {
          await fulfil(payload, signal)
        } catch (error) {
          const failure = error instanceof Error ? error.message.slice(0, 500) : "unknown"
          await requestStore(db).update(payload.organizationId, payload.requestId, { failure })
          throw error
        }
      },
    },
    expiry: {
      name: EXPIRE,
      every: 3_600_000,
      async run() {
        for (const { organization_id, id, archive_address } of await requestStore(db).expiredArchives(
          now(),
        )) {
          if (archive_address !== null) await blob.remove(organization_id, [archive_address])
          await requestStore(db).update(organization_id, id, { archive_address: null })
        }
      },
    },
    find: async (tx, subject) => (await knowledge()).statements.identities(tx, subject),
    async correct(tx, subject, corrections) {
      const { statements } = await knowledge()
      let report: ReportLine[] = []
      for (const { field, value } of corrections)
        for (const { table, column } of statements.corrected(field)) {
          const rows = await statements.replace(tx, table, subject, { [column]: value })
          report = withRows(report, table.table, "corrected", rows)
        }
      return report
    },
  }
}
