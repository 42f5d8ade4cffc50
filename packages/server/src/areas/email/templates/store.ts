import type { Db } from "../../../kernel/db/database.ts"
import type { Tables } from "../../../kernel/db/tables.gen.ts"
import { isUuid } from "../../../kernel/id.ts"
import type { Variable } from "./rules.ts"

export type TemplateRow = Omit<Tables["email.templates"], "variables"> & {
  readonly variables: readonly Variable[]
}

const read = (row: unknown): TemplateRow => row as TemplateRow
const written = ({ variables, ...row }: TemplateRow) => ({ ...row, variables: JSON.stringify(variables) })

/** Whose templates: a project's, which also sends from the organization's, or with null all of the organization. */
export interface TemplateOwner {
  readonly organizationId: string
  readonly projectId: string | null
}

/** Rows of email.templates; every statement names the organization. */
export const templateStore = (db: Db) => {
  const visible = ({ organizationId, projectId }: TemplateOwner) =>
    db
      .selectFrom("email.templates")
      .where("organization_id", "=", organizationId)
      .$if(projectId !== null, query =>
        query.where(eb => eb.or([eb("project_id", "is", null), eb("project_id", "=", projectId)])),
      )

  return {
    insert: async (row: TemplateRow) => {
      await db.insertInto("email.templates").values(written(row)).execute()
    },

    async find(owner: TemplateOwner, id: string): Promise<TemplateRow | undefined> {
      const row = await visible(owner).where("id", "=", id).selectAll().executeTakeFirst()
      return row && read(row)
    },

    /**
     * By id or by name. A name that looks like an id is found where no id is it. A project's own comes before the
     * organization's of that name; without a project only the organization's have names.
     */
    async findNamed(owner: TemplateOwner, nameOrId: string): Promise<TemplateRow | undefined> {
      const byId = isUuid(nameOrId) ? await this.find(owner, nameOrId) : undefined
      if (byId) return byId
      const row = await visible(owner)
        .where("name", "=", nameOrId)
        .$if(owner.projectId === null, query => query.where("project_id", "is", null))
        .selectAll()
        .orderBy("project_id", order => order.asc().nullsLast())
        .executeTakeFirst()
      return row && read(row)
    },

    async list(owner: TemplateOwner, { limit, offset }: { limit: number; offset: number }) {
      const rows = await visible(owner)
        .selectAll()
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(limit)
        .offset(offset)
        .execute()
      const { total } = await visible(owner)
        .select(({ fn }) => fn.countAll<number>().as("total"))
        .executeTakeFirstOrThrow()
      return { rows: rows.map(read), total }
    },

    /** Undefined when it is not there. Its version grows by one. */
    async replace(
      organizationId: string,
      id: string,
      row: Omit<TemplateRow, "id" | "organization_id" | "project_id" | "version" | "created_at">,
    ): Promise<TemplateRow | undefined> {
      const replaced = await db
        .updateTable("email.templates")
        .set(({ eb }) => ({
          ...{ ...row, variables: JSON.stringify(row.variables) },
          version: eb("version", "+", 1),
        }))
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .returningAll()
        .executeTakeFirst()
      return replaced && read(replaced)
    },

    async delete(organizationId: string, id: string): Promise<TemplateRow | undefined> {
      const deleted = await db
        .deleteFrom("email.templates")
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .returningAll()
        .executeTakeFirst()
      return deleted && read(deleted)
    },
  }
}
