import type { RagFormat, RagStatus } from "@svc/contract"
import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"

export interface DocumentRecord {
  readonly organization_id: string
  readonly project_id: string
  readonly id: string
  readonly name: string
  readonly content_type: string
  readonly format: RagFormat
  readonly size: number
  readonly sha256: Buffer
  readonly address: string | null
  readonly status: RagStatus
  readonly status_reason: string | null
  readonly pages: number | null
  readonly chunks: number
  readonly tokens: number
  readonly embedding_model: string | null
  readonly embedding_dimensions: number | null
  readonly metadata: Readonly<Record<string, unknown>>
  readonly created_at: Date
  readonly updated_at: Date
}

export type NewDocument = Pick<
  DocumentRecord,
  | "organization_id"
  | "project_id"
  | "id"
  | "name"
  | "content_type"
  | "format"
  | "size"
  | "sha256"
  | "metadata"
> & { readonly address: string }

export interface Totals {
  readonly counts: Readonly<Record<RagStatus, number>>
  readonly chunks: number
  readonly tokens: number
  readonly bytes: number
}

/** Documents of a project. Every statement names the project first. */
export const documentStore = (db: Db) => {
  const all = (projectId: string) =>
    db.selectFrom("ai_rag.documents").selectAll().where("project_id", "=", projectId)

  const own = (projectId: string, id: string) =>
    db.updateTable("ai_rag.documents").where("project_id", "=", projectId).where("id", "=", id)

  return {
    find: async (projectId: string, id: string) =>
      (await all(projectId).where("id", "=", id).executeTakeFirst()) as DocumentRecord | undefined,

    /** Locks the row until this transaction ends. */
    findBySha256: async (projectId: string, sha256: Buffer) =>
      (await all(projectId).where("sha256", "=", sha256).forUpdate().executeTakeFirst()) as
        | DocumentRecord
        | undefined,

    async list(
      projectId: string,
      status: RagStatus | undefined,
      { limit, offset }: { limit: number; offset: number },
    ) {
      const rows = await all(projectId)
        .$if(status !== undefined, query => query.where("status", "=", status as RagStatus))
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(limit)
        .offset(offset)
        .execute()
      const { total } = await db
        .selectFrom("ai_rag.documents")
        .select(({ fn }) => fn.countAll<number>().as("total"))
        .where("project_id", "=", projectId)
        .$if(status !== undefined, query => query.where("status", "=", status as RagStatus))
        .executeTakeFirstOrThrow()
      return { rows: rows as DocumentRecord[], total }
    },

    async totals(projectId: string): Promise<Totals> {
      const rows = await db
        .selectFrom("ai_rag.documents")
        .select(({ fn }) => [
          "status",
          fn.countAll<number>().as("documents"),
          sql<number>`coalesce(sum(chunks), 0)::bigint`.as("chunks"),
          sql<number>`coalesce(sum(tokens), 0)::bigint`.as("tokens"),
          sql<number>`coalesce(sum(size), 0)::bigint`.as("bytes"),
        ])
        .where("project_id", "=", projectId)
        .groupBy("status")
        .execute()
      const of = (status: RagStatus) => rows.find(row => row.status === status)
      const ready = of("ready")
      const counts = {
        queued: of("queued")?.documents ?? 0,
        processing: of("processing")?.documents ?? 0,
        ready: ready?.documents ?? 0,
        failed: of("failed")?.documents ?? 0,
      }
      return {
        counts,
        chunks: ready?.chunks ?? 0,
        tokens: ready?.tokens ?? 0,
        bytes: ready?.bytes ?? 0,
      }
    },

    /** False where the project has a document of the same bytes. */
    async insert(document: NewDocument, now: Date): Promise<boolean> {
      const { numInsertedOrUpdatedRows } = await db
        .insertInto("ai_rag.documents")
        .values({
          ...document,
          metadata: JSON.stringify(document.metadata),
          status: "queued",
          status_reason: null,
          pages: null,
          chunks: 0,
          tokens: 0,
          embedding_model: null,
          embedding_dimensions: null,
          created_at: now,
          updated_at: now,
        })
        .onConflict(conflict => conflict.columns(["project_id", "sha256"]).doNothing())
        .executeTakeFirst()
      return (numInsertedOrUpdatedRows ?? 0n) > 0n
    },

    /** What an upload of bytes that are known says of them; with an address they are read once more. */
    async describeAgain(
      projectId: string,
      id: string,
      given: Pick<NewDocument, "name" | "metadata"> & { readonly address: string | undefined },
      now: Date,
    ): Promise<void> {
      const { name, metadata, address } = given
      await own(projectId, id)
        .set({ name, metadata: JSON.stringify(metadata), updated_at: now })
        .$if(address !== undefined, query =>
          query.set({ address: address as string, status: "queued", status_reason: null }),
        )
        .execute()
    },

    /** Undefined where it is no longer to be read. */
    take: async (projectId: string, id: string, now: Date) =>
      (await own(projectId, id)
        .set({ status: "processing", updated_at: now })
        .where("status", "in", ["queued", "processing"])
        .returningAll()
        .executeTakeFirst()) as DocumentRecord | undefined,

    /** False where it was deleted meanwhile. */
    async finish(
      projectId: string,
      id: string,
      result: Pick<
        DocumentRecord,
        | "status"
        | "status_reason"
        | "pages"
        | "chunks"
        | "tokens"
        | "embedding_model"
        | "embedding_dimensions"
      >,
      now: Date,
    ): Promise<boolean> {
      const { numUpdatedRows } = await own(projectId, id)
        .set({ ...result, address: null, updated_at: now })
        .executeTakeFirst()
      return numUpdatedRows > 0n
    },

    /** The row that was deleted, with its chunks. */
    remove: async (projectId: string, id: string) =>
      (await db
        .deleteFrom("ai_rag.documents")
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .returningAll()
        .executeTakeFirst()) as DocumentRecord | undefined,
  }
}
