import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { countRows, listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import type { OldSecretStore } from "../../services/deliveries/signed-endpoints.ts"

export type WebhookRow = Tables["webhooks.webhooks"]

/** Whose webhooks: all of an organization, or those of one of its projects. */
export interface Owner {
  readonly organizationId: string
  /** Null: the whole organization. */
  readonly projectId: string | null
}

/** Rows of webhooks.webhooks and webhooks.old_secrets. Every statement of a call names the tenant. */
export const webhookStore = (db: Db) => {
  const own = ({ organizationId, projectId }: Owner) =>
    db
      .selectFrom("webhooks.webhooks")
      .where("organization_id", "=", organizationId)
      .$if(projectId !== null, query => query.where("project_id", "=", projectId))

  /** Active ones. With a deleted organization the keys went that its secrets are sealed under. */
  const active = () =>
    db
      .selectFrom("webhooks.webhooks as webhook")
      .innerJoin("core.organizations as organization", "organization.id", "webhook.organization_id")
      .where("organization.deleted_at", "is", null)
      .where("webhook.active", "=", true)

  return {
    insert: async (row: WebhookRow) => {
      await db.insertInto("webhooks.webhooks").values(row).execute()
    },

    find: (owner: Owner, id: string): Promise<WebhookRow | undefined> =>
      own(owner).where("id", "=", id).selectAll().executeTakeFirst(),

    /** The row, locked until the transaction ends: two changes of one webhook take turns. */
    findForUpdate: (owner: Owner, id: string): Promise<WebhookRow | undefined> =>
      own(owner).where("id", "=", id).selectAll().forUpdate().executeTakeFirst(),

    list: (owner: Owner, slice: Slice): Promise<{ rows: WebhookRow[]; total: number }> =>
      listRows(own(owner).selectAll().orderBy("created_at", "desc").orderBy("id", "desc"), slice),

    /** Number of webhooks of the organization; holds a lock that keeps others from registering until the transaction ends. */
    countToRegister: async (organizationId: string): Promise<number> => {
      await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`webhooks.registered:${organizationId}`}, 0))`.execute(
        db,
      )
      return countRows(own({ organizationId, projectId: null }))
    },

    update: async (organizationId: string, id: string, change: Partial<WebhookRow>) => {
      await db
        .updateTable("webhooks.webhooks")
        .set(change)
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .execute()
    },

    delete: async (organizationId: string, id: string) => {
      await db
        .deleteFrom("webhooks.webhooks")
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .execute()
    },

    oldSecrets: ({
      organization_id,
      id: webhook_id,
    }: Pick<WebhookRow, "organization_id" | "id">): OldSecretStore => ({
      list: () =>
        db
          .selectFrom("webhooks.old_secrets")
          .selectAll()
          .where("organization_id", "=", organization_id)
          .where("webhook_id", "=", webhook_id)
          .orderBy("id", "desc")
          .execute(),
      async insert(old) {
        await db
          .insertInto("webhooks.old_secrets")
          .values({ organization_id, webhook_id, ...old })
          .execute()
      },
      async delete(until) {
        const all = db
          .deleteFrom("webhooks.old_secrets")
          .where("organization_id", "=", organization_id)
          .where("webhook_id", "=", webhook_id)
        await (until ? all.where("signs_until", "<=", until) : all).execute()
      },
    }),

    /** Who of an organization listens to what. */
    listeners: (organizationId: string): Promise<Pick<WebhookRow, "id" | "project_id" | "event_types">[]> =>
      active()
        .where("webhook.organization_id", "=", organizationId)
        .select(["webhook.id", "webhook.project_id", "webhook.event_types"])
        .execute(),

    /** By the id alone: for the engine, whose deliveries name only webhooks of their own tenant. */
    findActive: (id: string): Promise<WebhookRow | undefined> =>
      active().where("webhook.id", "=", id).selectAll("webhook").executeTakeFirst(),
  }
}
