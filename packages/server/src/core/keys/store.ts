import { type Selectable, sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type KeyRow = Selectable<Tables["core.api_keys"]>

export interface KeyWithTenant extends KeyRow {
  organization_name: string
  organization_plan: string
  organization_deleted_at: Date | null
  requests_per_second: number | null
  project_name: string | null
  project_deleted_at: Date | null
  user_id: string | null
  user_email: string | null
  user_name: string | null
}

export interface KeyRecord extends KeyRow {
  creator_email: string | null
}

/** Keeps the list of an IN from being empty, which is not SQL. */
const NO_PROJECT = "00000000-0000-0000-0000-000000000000"

/** Their keys speak for the person who made them; keys of other types belong to the organization. */
const OF_A_PERSON = ["personal", "oauth"]

export const isOfPerson = (type: string): boolean => OF_A_PERSON.includes(type)

/** Rows of core.api_keys. */
export const keyStore = (db: Db) => {
  const withTenant = () =>
    db
      .selectFrom("core.api_keys as key")
      .innerJoin("core.organizations as organization", "organization.id", "key.organization_id")
      .leftJoin("core.projects as project", "project.id", "key.project_id")
      // Only a key of a person speaks for its creator.
      .leftJoin("core.users as user", join =>
        join.onRef("user.id", "=", "key.created_by").on("key.type", "in", OF_A_PERSON),
      )
      .selectAll("key")
      .select([
        "organization.name as organization_name",
        "organization.plan as organization_plan",
        "organization.deleted_at as organization_deleted_at",
        "organization.requests_per_second",
        "project.name as project_name",
        "project.deleted_at as project_deleted_at",
        "user.id as user_id",
        "user.email as user_email",
        "user.name as user_name",
      ])

  const records = (organizationId: string) =>
    db
      .selectFrom("core.api_keys as key")
      .leftJoin("core.users as creator", "creator.id", "key.created_by")
      .selectAll("key")
      .select("creator.email as creator_email")
      .where("key.organization_id", "=", organizationId)

  return {
    findBySecretHash: (hash: Buffer): Promise<KeyWithTenant | undefined> =>
      withTenant().where("key.secret_hash", "=", hash).executeTakeFirst(),

    findWithTenant: (id: string): Promise<KeyWithTenant | undefined> =>
      withTenant().where("key.id", "=", id).executeTakeFirst(),

    find: (organizationId: string, id: string): Promise<KeyRecord | undefined> =>
      records(organizationId).where("key.id", "=", id).executeTakeFirst(),

    /** The row, locked until the transaction ends: two rotations of one key take turns. */
    findForUpdate: (organizationId: string, id: string): Promise<KeyRecord | undefined> =>
      records(organizationId).where("key.id", "=", id).forUpdate("key").executeTakeFirst(),

    async list(
      organizationId: string,
      filter: {
        /** The projects whose keys the reader may see; null: all, org-wide keys too. */
        projectIds: ReadonlySet<string> | null
        projectId?: string | undefined
        status?: string | undefined
        now: Date
        limit: number
        offset: number
      },
    ): Promise<{ rows: KeyRecord[]; total: number }> {
      let rows = records(organizationId)
      if (filter.projectIds) rows = rows.where("key.project_id", "in", [...filter.projectIds, NO_PROJECT])
      if (filter.projectId !== undefined) rows = rows.where("key.project_id", "=", filter.projectId)
      if (filter.status !== undefined) rows = rows.where(statusIs(filter.status, filter.now))
      const { total } = await rows
        .clearSelect()
        .select(eb => eb.fn.countAll<number>().as("total"))
        .executeTakeFirstOrThrow()
      const page = await rows
        .orderBy("key.created_at", "desc")
        .orderBy("key.id", "desc")
        .limit(filter.limit)
        .offset(filter.offset)
        .execute()
      return { rows: page, total }
    },

    /** Keys that count against the plan: neither revoked nor expired, and not on their way out after a rotation. */
    async countLive(organizationId: string, now: Date): Promise<number> {
      const { count } = await db
        .selectFrom("core.api_keys as key")
        .select(eb => eb.fn.countAll<number>().as("count"))
        .where("organization_id", "=", organizationId)
        .where("type", "!=", "publishable")
        .where(statusIs("active", now))
        .executeTakeFirstOrThrow()
      return count
    },

    /** The key and those that it replaced by rotation: they are one key to its user. */
    async versionsOf(organizationId: string, id: string): Promise<string[]> {
      const { rows } = await sql<{ id: string }>`
        WITH RECURSIVE versions AS (
          SELECT id, rotated_from_id FROM core.api_keys WHERE organization_id = ${organizationId} AND id = ${id}
          UNION ALL
          SELECT older.id, older.rotated_from_id FROM versions
          JOIN core.api_keys older ON older.organization_id = ${organizationId} AND older.id = versions.rotated_from_id
        )
        SELECT id FROM versions`.execute(db)
      return rows.map(row => row.id)
    },

    /** Keys with a secret that still works, or will until its rotation's grace ends, newest first. */
    listLiveOfMaker: (organizationId: string, userId: string, now: Date): Promise<KeyRow[]> =>
      db
        .selectFrom("core.api_keys as key")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .where("created_by", "=", userId)
        .where("type", "!=", "publishable")
        .where(eb => eb.or([statusIs("active", now), statusIs("rotating", now)]))
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .execute(),

    insert: (row: KeyRow): Promise<unknown> => db.insertInto("core.api_keys").values(row).execute(),

    update: (organizationId: string, id: string, change: Partial<KeyRow>): Promise<unknown> =>
      db
        .updateTable("core.api_keys")
        .set(change)
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .execute(),

    /** Of these keys, those that were not revoked. */
    listUnrevoked: (organizationId: string, ids: readonly string[]): Promise<KeyRow[]> =>
      db
        .selectFrom("core.api_keys")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .where("id", "in", [...ids, NO_PROJECT])
        .where("revoked_at", "is", null)
        .execute(),

    /** The live keys that this one was rotated from or into. */
    relatives(organizationId: string, key: KeyRow): Promise<KeyRow[]> {
      return db
        .selectFrom("core.api_keys")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .where("revoked_at", "is", null)
        .where(eb =>
          eb.or([eb("rotated_from_id", "=", key.id), eb("id", "=", key.rotated_from_id ?? NO_PROJECT)]),
        )
        .execute()
    },

    /** Revokes the live keys of a project that goes away, and gives them. */
    revokeOfProject(organizationId: string, projectId: string, now: Date): Promise<KeyRow[]> {
      return db
        .updateTable("core.api_keys")
        .set({ revoked_at: now })
        .where("organization_id", "=", organizationId)
        .where("project_id", "=", projectId)
        .where("revoked_at", "is", null)
        .returningAll()
        .execute()
    },

    /** The keys of all tenants that end from `now` to `until` and were not noted before, which they now are. */
    async noteExpiring(now: Date, until: Date, limit: number): Promise<KeyRow[]> {
      const noted = await db
        .insertInto("core.key_notices")
        .columns(["key_id", "told_at"])
        .expression(
          db
            .selectFrom("core.api_keys as key")
            .select(["key.id", sql.val(now).as("told_at")])
            .where("key.expires_at", ">", now)
            .where("key.expires_at", "<=", until)
            .where("key.revoked_at", "is", null)
            .where("key.grace_expires_at", "is", null)
            // An access token of a connected app always ends within hours, and the app renews it.
            .where("key.type", "!=", "oauth")
            .where(({ not, exists, selectFrom }) =>
              not(
                exists(
                  selectFrom("core.key_notices as notice")
                    .select("notice.key_id")
                    .whereRef("notice.key_id", "=", "key.id"),
                ),
              ),
            )
            .orderBy("key.expires_at")
            .limit(limit),
        )
        .onConflict(conflict => conflict.doNothing())
        .returning("key_id")
        .execute()
      const ids = noted.map(({ key_id }) => key_id)
      if (ids.length === 0) return []
      return db.selectFrom("core.api_keys").selectAll().where("id", "in", ids).execute()
    },

    /** Skips keys that are locked by a change, so that it neither waits nor blocks. */
    async touch(used: readonly { id: string; at: Date }[]): Promise<void> {
      await sql`
        WITH used AS (
          SELECT key.id, used.at
          FROM unnest(${used.map(({ id }) => id)}::uuid[], ${used.map(({ at }) => at)}::timestamptz[]) AS used (id, at)
          JOIN core.api_keys AS key ON key.id = used.id
          WHERE key.last_used_at IS NULL OR key.last_used_at < used.at
          FOR NO KEY UPDATE OF key SKIP LOCKED
        )
        UPDATE core.api_keys AS key SET last_used_at = used.at FROM used WHERE key.id = used.id`.execute(db)
    },
  }
}

/** The status of rules.ts, as a condition. */
const statusIs = (status: string, now: Date) => {
  const ended = sql`coalesce(least(key.expires_at, key.grace_expires_at) <= ${now}, false)`
  if (status === "revoked") return sql<boolean>`key.revoked_at IS NOT NULL`
  if (status === "expired") return sql<boolean>`key.revoked_at IS NULL AND ${ended}`
  if (status === "rotating")
    return sql<boolean>`key.revoked_at IS NULL AND NOT ${ended} AND key.grace_expires_at IS NOT NULL`
  return sql<boolean>`key.revoked_at IS NULL AND NOT ${ended} AND key.grace_expires_at IS NULL`
}
