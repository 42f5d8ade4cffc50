import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { countRows, listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import type { OldSecretStore } from "../../services/deliveries/signed-endpoints.ts"

export type SubscriptionRow = Tables["events.subscriptions"]

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

  list: (owner: Owner, slice: Slice): Promise<{ rows: TopicRow[]; total: number }> =>
    listRows(topicRows(db, owner).orderBy("topic.created_at", "desc").orderBy("topic.id", "desc"), slice),

  count: (owner: Owner): Promise<number> => countRows(topicRows(db, owner)),

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
  findForUpdate: (owner: Owner, id: string): Promise<SubscriptionRow | undefined> =>
    own(db, owner).selectAll().where("id", "=", id).forUpdate().executeTakeFirst(),

  list: (owner: Owner, topicId: string, slice: Slice): Promise<{ rows: SubscriptionRow[]; total: number }> =>
    listRows(
      own(db, owner)
        .selectAll()
        .where("topic_id", "=", topicId)
        .orderBy("created_at", "desc")
        .orderBy("id", "desc"),
      slice,
    ),

  count: (owner: Owner, topicId: string): Promise<number> =>
    countRows(own(db, owner).where("topic_id", "=", topicId)),

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

  oldSecrets: (subscription_id: string): OldSecretStore => ({
    list: () =>
      db
        .selectFrom("events.old_secrets")
        .selectAll()
        .where("subscription_id", "=", subscription_id)
        .orderBy("id", "desc")
        .execute(),
    async insert(old) {
      await db
        .insertInto("events.old_secrets")
        .values({ subscription_id, ...old })
        .execute()
    },
    async delete(until) {
      const all = db.deleteFrom("events.old_secrets").where("subscription_id", "=", subscription_id)
      await (until ? all.where("signs_until", "<=", until) : all).execute()
    },
  }),
})
