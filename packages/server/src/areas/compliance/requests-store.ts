import { type Selectable, sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type RequestRow = Selectable<Tables["compliance.requests"]>
export type ConsentRow = Selectable<Tables["compliance.consents"]>

export interface ReportLine {
  readonly table: string
  readonly action: "exported" | "deleted" | "replaced" | "corrected" | "kept"
  readonly rows: number
  readonly reason?: string
}

/** Rows of compliance.requests and compliance.consents. Every statement of a call names the organization. */
export const requestStore = (db: Db) => {
  const own = (organizationId: string) =>
    db.selectFrom("compliance.requests").selectAll().where("organization_id", "=", organizationId)

  return {
    insert: async (row: Omit<RequestRow, "requested_by" | "report"> & { requested_by: object }) => {
      await db
        .insertInto("compliance.requests")
        .values({ ...row, requested_by: JSON.stringify(row.requested_by), report: "[]" })
        .execute()
    },

    find: (organizationId: string, id: string): Promise<RequestRow | undefined> =>
      own(organizationId).where("id", "=", id).executeTakeFirst(),

    /** The row, locked until the transaction ends. */
    findForUpdate: (organizationId: string, id: string): Promise<RequestRow | undefined> =>
      own(organizationId).where("id", "=", id).forUpdate().executeTakeFirst(),

    list: (organizationId: string, slice: Slice): Promise<{ rows: RequestRow[]; total: number }> =>
      listRows(own(organizationId).orderBy("received_at", "desc").orderBy("id", "desc"), slice),

    /** An access request for the same person that is being worked on or whose archive is there. */
    findExport: (row: RequestRow, now: Date): Promise<RequestRow | undefined> =>
      own(row.organization_id)
        .where("kind", "=", "access")
        .where(sql<boolean>`subject_ids = ${row.subject_ids}::uuid[]`)
        .where(sql<boolean>`subject_emails = ${row.subject_emails}::text[]`)
        .where(eb =>
          eb.or([
            eb("status", "=", "in_progress"),
            eb.and([eb("archive_address", "is not", null), eb("archive_expires_at", ">", now)]),
          ]),
        )
        .orderBy("received_at", "desc")
        .limit(1)
        .executeTakeFirst(),

    /** Those that should have been answered. */
    overdue: (organizationId: string, now: Date) =>
      db
        .selectFrom("compliance.requests")
        .select("id")
        .where("organization_id", "=", organizationId)
        .where("status", "in", ["pending", "in_progress"])
        .where("due_at", "<", now)
        .orderBy("due_at")
        .limit(100)
        .execute(),

    async update(
      organizationId: string,
      id: string,
      change: Partial<Omit<RequestRow, "report" | "requested_by">>,
    ) {
      await db
        .updateTable("compliance.requests")
        .set(change)
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .execute()
    },

    async writeReport(organizationId: string, id: string, report: readonly ReportLine[]) {
      await db
        .updateTable("compliance.requests")
        .set({ report: JSON.stringify(report) })
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .execute()
    },

    /** Of all tenants: archives whose time is over. */
    expiredArchives: (now: Date) =>
      db
        .selectFrom("compliance.requests")
        .select(["organization_id", "id", "archive_address"])
        .where("archive_address", "is not", null)
        .where("archive_expires_at", "<=", now)
        .limit(1_000)
        .execute(),

    insertConsent: async (row: ConsentRow) => {
      await db.insertInto("compliance.consents").values(row).execute()
    },

    /** The newest first. */
    consents: (organizationId: string, limit: number): Promise<ConsentRow[]> =>
      db
        .selectFrom("compliance.consents")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .orderBy("updated_at", "desc")
        .orderBy("id", "desc")
        .limit(limit)
        .execute(),
  }
}
