import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type WebhookRow = Tables["webhooks.webhooks"]
export type OldSecretRow = Tables["webhooks.old_secrets"]

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

  const withoutOldSecrets = (organizationId: string, webhookId: string) =>
    db
      .deleteFrom("webhooks.old_secrets")
      .where("organization_id", "=", organizationId)
      .where("webhook_id", "=", webhookId)

  return {
    insert: async (row: WebhookRow) => {
      await db.insertInto("webhooks.webhooks").values(row).execute()
    },

    find: (owner: Owner, id: string): Promise<WebhookRow | undefined> =>
      own(owner).where("id", "=", id).selectAll().executeTakeFirst(),

    /** The row, locked until the transaction ends: two changes of one webhook take turns. */
    findForUpdate: (owner: Owner, id: string): Promise<WebhookRow | undefined> =>
      own(owner).where("id", "=", id).selectAll().forUpdate().executeTakeFirst(),

    async list(
      owner: Owner,
      { limit, offset }: { limit: number; offset: number },
    ): Promise<{ rows: WebhookRow[]; total: number }> {
      const rows = await own(owner)
        .selectAll()
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(limit)
        .offset(offset)
        .execute()
      return { rows, total: await this.count(owner) }
    },

    async count(owner: Owner): Promise<number> {
      const { total } = await own(owner)
        .select(({ fn }) => fn.countAll<number>().as("total"))
        .executeTakeFirstOrThrow()
      return total
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

    insertOldSecret: async (row: OldSecretRow) => {
      await db.insertInto("webhooks.old_secrets").values(row).execute()
    },

    /** Forgets the secrets that no longer sign; gives how many still do. */
    async pruneOldSecrets(organizationId: string, webhookId: string, now: Date): Promise<number> {
      await withoutOldSecrets(organizationId, webhookId).where("signs_until", "<=", now).execute()
      return (await this.oldSecrets(organizationId, webhookId)).length
    },

    deleteOldSecrets: async (organizationId: string, webhookId: string) => {
      await withoutOldSecrets(organizationId, webhookId).execute()
    },

    /** The newest first; those whose time is over may still be among them. */
    oldSecrets: (organizationId: string, webhookId: string): Promise<OldSecretRow[]> =>
      db
        .selectFrom("webhooks.old_secrets")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .where("webhook_id", "=", webhookId)
        .orderBy("id", "desc")
        .execute(),

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
