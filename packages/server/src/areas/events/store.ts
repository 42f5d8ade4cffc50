import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type SubscriptionRow = Tables["events.subscriptions"]
export type OldSecretRow = Tables["events.old_secrets"]

/** Whose topics a call may touch: a project's, or the organization's own. */
export interface Owner {
  readonly organizationId: string
  readonly ownerId: string
}

export interface NewTopic {
  readonly id: string
  readonly organization_id: string
  readonly project_id: string | null
  readonly owner_id: string
  readonly name: string
  readonly retention_days: number
  readonly created_at: Date
  readonly updated_at: Date
}

export interface TopicRow extends NewTopic {
  readonly subscription_count: number
  readonly event_count: number
}

interface Page {
  readonly limit: number
  readonly offset: number
}

/** Topics of an owner, each with its counts. */
const topicRows = (db: Db, { organizationId, ownerId }: Owner) =>
  db
    .selectFrom("events.topics as topic")
    .where("topic.organization_id", "=", organizationId)
    .where("topic.owner_id", "=", ownerId)
    .select([
      "topic.id",
      "topic.organization_id",
      "topic.project_id",
      "topic.owner_id",
      "topic.name",
      "topic.retention_days",
      "topic.created_at",
      "topic.updated_at",
      sql<number>`(SELECT count(*) FROM events.subscriptions s WHERE s.topic_id = topic.id)`.as(
        "subscription_count",
      ),
      "topic.event_count",
    ])

export const topicStore = (db: Db) => ({
  insert: async (row: NewTopic) => {
    await db.insertInto("events.topics").values(row).execute()
  },

  find: (owner: Owner, id: string): Promise<TopicRow | undefined> =>
    topicRows(db, owner).where("topic.id", "=", id).executeTakeFirst(),

  async list(owner: Owner, { limit, offset }: Page): Promise<{ rows: TopicRow[]; total: number }> {
    const rows = await topicRows(db, owner)
      .orderBy("topic.created_at", "desc")
      .orderBy("topic.id", "desc")
      .limit(limit)
      .offset(offset)
      .execute()
    return { rows, total: await this.count(owner) }
  },

  async count({ organizationId, ownerId }: Owner): Promise<number> {
    const { total } = await db
      .selectFrom("events.topics")
      .where("organization_id", "=", organizationId)
      .where("owner_id", "=", ownerId)
      .select(({ fn }) => fn.countAll<number>().as("total"))
      .executeTakeFirstOrThrow()
    return total
  },

  /** Locked until the transaction ends: a topic is not deleted while it gets a subscription. */
  async lock({ organizationId, ownerId }: Owner, id: string): Promise<boolean> {
    const row = await db
      .selectFrom("events.topics")
      .where("organization_id", "=", organizationId)
      .where("owner_id", "=", ownerId)
      .where("id", "=", id)
      .select("id")
      .forUpdate()
      .executeTakeFirst()
    return row !== undefined
  },

  delete: async ({ organizationId, ownerId }: Owner, id: string) => {
    await db
      .deleteFrom("events.topics")
      .where("organization_id", "=", organizationId)
      .where("owner_id", "=", ownerId)
      .where("id", "=", id)
      .execute()
  },
})

/** Subscriptions of an owner. */
const own = (db: Db, { organizationId, ownerId }: Owner) =>
  db
    .selectFrom("events.subscriptions")
    .where("organization_id", "=", organizationId)
    .where("owner_id", "=", ownerId)

export const subscriptionStore = (db: Db) => ({
  insert: async (row: SubscriptionRow) => {
    await db.insertInto("events.subscriptions").values(row).execute()
  },

  find: (owner: Owner, id: string): Promise<SubscriptionRow | undefined> =>
    own(db, owner).selectAll().where("id", "=", id).executeTakeFirst(),

  /** Locked until the transaction ends: two changes of one subscription take turns. */
  lock: (owner: Owner, id: string): Promise<SubscriptionRow | undefined> =>
    own(db, owner).selectAll().where("id", "=", id).forUpdate().executeTakeFirst(),

  async list(
    owner: Owner,
    topicId: string,
    { limit, offset }: Page,
  ): Promise<{ rows: SubscriptionRow[]; total: number }> {
    const rows = await own(db, owner)
      .selectAll()
      .where("topic_id", "=", topicId)
      .orderBy("created_at", "desc")
      .orderBy("id", "desc")
      .limit(limit)
      .offset(offset)
      .execute()
    return { rows, total: await this.count(owner, topicId) }
  },

  async count(owner: Owner, topicId: string): Promise<number> {
    const { total } = await own(db, owner)
      .where("topic_id", "=", topicId)
      .select(({ fn }) => fn.countAll<number>().as("total"))
      .executeTakeFirstOrThrow()
    return total
  },

  update: async (
    { organizationId, ownerId }: Owner,
    id: string,
    changes: Partial<Omit<SubscriptionRow, "id" | "organization_id" | "owner_id" | "topic_id">>,
  ) => {
    await db
      .updateTable("events.subscriptions")
      .set(changes)
      .where("organization_id", "=", organizationId)
      .where("owner_id", "=", ownerId)
      .where("id", "=", id)
      .execute()
  },

  delete: async ({ organizationId, ownerId }: Owner, id: string) => {
    await db
      .deleteFrom("events.subscriptions")
      .where("organization_id", "=", organizationId)
      .where("owner_id", "=", ownerId)
      .where("id", "=", id)
      .execute()
  },

  /** By the platform itself, which knows it by its deliveries. */
  disable: async (
    organizationId: string,
    id: string,
    reason: string,
    now: Date,
  ): Promise<string | undefined> => {
    const row = await db
      .updateTable("events.subscriptions")
      .set({ status: "disabled", disabled_reason: reason, updated_at: now })
      .where("organization_id", "=", organizationId)
      .where("id", "=", id)
      .returning("topic_id")
      .executeTakeFirst()
    return row?.topic_id
  },

  /** For deliveries, which carry the ids of what they go to. With a deleted organization its sealed secrets are lost. */
  findActive: (id: string): Promise<SubscriptionRow | undefined> =>
    db
      .selectFrom("events.subscriptions as subscription")
      .innerJoin("core.organizations as organization", "organization.id", "subscription.organization_id")
      .where("organization.deleted_at", "is", null)
      .where("subscription.id", "=", id)
      .where("subscription.status", "=", "active")
      .selectAll("subscription")
      .executeTakeFirst(),

  oldSecrets: (subscriptionId: string): Promise<OldSecretRow[]> =>
    db
      .selectFrom("events.old_secrets")
      .selectAll()
      .where("subscription_id", "=", subscriptionId)
      .orderBy("id", "desc")
      .execute(),

  insertOldSecret: async (row: OldSecretRow) => {
    await db.insertInto("events.old_secrets").values(row).execute()
  },

  /** All of them, or those that sign no more. */
  deleteOldSecrets: async (subscriptionId: string, until?: Date) => {
    await db
      .deleteFrom("events.old_secrets")
      .where("subscription_id", "=", subscriptionId)
      .$if(until !== undefined, query => query.where("signs_until", "<=", until as Date))
      .execute()
  },
})
