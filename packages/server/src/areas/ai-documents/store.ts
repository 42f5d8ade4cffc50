import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type DocumentRow = Tables["ai_documents.documents"]
export type VersionRow = Tables["ai_documents.versions"]

export type VersionFacts = Omit<VersionRow, "tree" | "source">

const FACTS = [
  "project_id",
  "document_id",
  "version",
  "title",
  "format",
  "template",
  "bytes",
  "sha256",
  "edits",
  "created_at",
] as const

interface PageOfRows {
  readonly limit: number
  readonly offset: number
}

/** Documents and their versions. Every statement names the project first, so no query can cross tenants. */
export const documentStore = (db: Db, projectId: string) => {
  const documents = () => db.selectFrom("ai_documents.documents").where("project_id", "=", projectId)
  const versions = () => db.selectFrom("ai_documents.versions").where("project_id", "=", projectId)

  return {
    insert: (row: DocumentRow): Promise<unknown> =>
      db.insertInto("ai_documents.documents").values(row).execute(),

    insertVersion: (row: VersionRow): Promise<unknown> =>
      db.insertInto("ai_documents.versions").values(row).execute(),

    find: (id: string) => documents().where("id", "=", id).selectAll().executeTakeFirst(),

    findForUpdate: (id: string) =>
      documents().where("id", "=", id).selectAll().forUpdate().executeTakeFirst(),

    update: (id: string, changes: Pick<DocumentRow, "title" | "version" | "updated_at">): Promise<unknown> =>
      db
        .updateTable("ai_documents.documents")
        .set(changes)
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .execute(),

    async delete(id: string): Promise<boolean> {
      const { numDeletedRows } = await db
        .deleteFrom("ai_documents.documents")
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .executeTakeFirst()
      return numDeletedRows > 0n
    },

    async list({ limit, offset }: PageOfRows) {
      const total = await this.count()
      const rows = await documents()
        .selectAll()
        .orderBy("updated_at", "desc")
        .orderBy("id", "desc")
        .limit(limit)
        .offset(offset)
        .execute()
      return { rows, total }
    },

    async count(): Promise<number> {
      const { total } = await documents()
        .select(eb => eb.fn.countAll<number>().as("total"))
        .executeTakeFirstOrThrow()
      return total
    },

    async countVersions(): Promise<number> {
      const { total } = await versions()
        .select(eb => eb.fn.countAll<number>().as("total"))
        .executeTakeFirstOrThrow()
      return total
    },

    findVersion: (id: string, version: number) =>
      versions().where("document_id", "=", id).where("version", "=", version).selectAll().executeTakeFirst(),

    async listVersions(id: string, { limit, offset }: PageOfRows) {
      const all = versions().where("document_id", "=", id)
      const { total } = await all.select(eb => eb.fn.countAll<number>().as("total")).executeTakeFirstOrThrow()
      const rows = await all.select(FACTS).orderBy("version", "desc").limit(limit).offset(offset).execute()
      return { rows: rows as VersionFacts[], total }
    },
  }
}
