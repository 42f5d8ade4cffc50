import { type SqlBool, sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { countRows, listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type MessageRow = Tables["notifications.messages"]
export type EntryRow = Tables["notifications.entries"]
export type DeliveryRow = Tables["notifications.deliveries"]

/** Whose entries, and which of them the caller may see. */
export interface Inbox {
  readonly organizationId: string
  readonly userId: string
  /** Only what is of this project or of none; null: everything. */
  readonly projectId: string | null
  /** A key of a project looks into another's inbox: what is of no project is not for it. */
  readonly isOthers: boolean
}

export interface Filter {
  readonly read?: boolean | undefined
  readonly archived: boolean
  readonly category?: string | undefined
  readonly type?: string | undefined
  readonly since?: Date | undefined
  readonly until?: Date | undefined
}

export type NotificationRow = EntryRow &
  Pick<MessageRow, "type" | "category" | "title" | "body" | "action_url" | "priority"> & { data: unknown }

export interface NewEntry {
  readonly userId: string
  readonly seq: number
  readonly inApp: boolean
}

/** Rows of an inbox. Every statement names the organization first, and then the inbox. */
export const inboxStore = (db: Db) => {
  const own = ({ organizationId, userId, ...part }: Inbox, now: Date) =>
    db
      .selectFrom("notifications.entries as entry")
      .innerJoin("notifications.messages as message", "message.id", "entry.id")
      .where("entry.organization_id", "=", organizationId)
      .where("entry.user_id", "=", userId)
      .where(visible(part, now))

  const visible = ({ projectId, isOthers }: Pick<Inbox, "projectId" | "isOthers">, now: Date) =>
    sql<SqlBool>`(entry.expires_at IS NULL OR entry.expires_at > ${now})
      AND (${projectId}::uuid IS NULL OR (entry.project_id IS NULL AND NOT ${isOthers}::boolean)
        OR entry.project_id = ${projectId}::uuid)`

  const whole = (inbox: Inbox, now: Date) =>
    own(inbox, now)
      .selectAll("entry")
      .select([
        ...(["message.type", "message.category", "message.title", "message.body"] as const),
        ...(["message.data", "message.action_url", "message.priority"] as const),
      ])

  const listed = (inbox: Inbox, filter: Filter, now: Date) => {
    const { read, archived, category, type, since, until } = filter
    return whole(inbox, now)
      .where("entry.in_app", "=", true)
      .where("entry.archived_at", archived ? "is not" : "is", null)
      .$if(read !== undefined, query => query.where("entry.read_at", read ? "is not" : "is", null))
      .$if(category !== undefined, query => query.where("message.category", "=", category ?? ""))
      .$if(type !== undefined, query => query.where("message.type", "=", type ?? ""))
      .$if(since !== undefined, query => query.where("entry.created_at", ">=", since ?? now))
      .$if(until !== undefined, query => query.where("entry.created_at", "<=", until ?? now))
  }

  const marking = ({ organizationId, userId, ...part }: Inbox, now: Date) =>
    db
      .updateTable("notifications.entries as entry")
      .where("entry.organization_id", "=", organizationId)
      .where("entry.user_id", "=", userId)
      .where(visible(part, now))

  return {
    find: (inbox: Inbox, id: string, now: Date): Promise<NotificationRow | undefined> =>
      whole(inbox, now).where("entry.id", "=", id).executeTakeFirst(),

    /** Newest first. */
    list: (
      inbox: Inbox,
      filter: Filter,
      slice: Slice,
      now: Date,
    ): Promise<{ rows: NotificationRow[]; total: number }> =>
      listRows(listed(inbox, filter, now).orderBy("entry.seq", "desc"), slice),

    /** What came after that number, the oldest first. */
    after: (inbox: Inbox, seq: number, limit: number, now: Date): Promise<NotificationRow[]> =>
      whole(inbox, now)
        .where("entry.in_app", "=", true)
        .where("entry.seq", ">", seq)
        .orderBy("entry.seq")
        .limit(limit)
        .execute(),

    async lastSeq({ organizationId, userId }: Inbox): Promise<number> {
      const row = await db
        .selectFrom("notifications.inboxes")
        .where("organization_id", "=", organizationId)
        .where("user_id", "=", userId)
        .select("last_seq")
        .executeTakeFirst()
      return row?.last_seq ?? 0
    },

    /** One scan of an index that holds nothing but the unread. */
    unreadCount: ({ organizationId, userId, ...part }: Inbox, now: Date): Promise<number> =>
      countRows(
        db
          .selectFrom("notifications.entries as entry")
          .where("entry.organization_id", "=", organizationId)
          .where("entry.user_id", "=", userId)
          .where(sql<SqlBool>`entry.in_app AND entry.read_at IS NULL AND entry.archived_at IS NULL`)
          .where(visible(part, now)),
      ),

    mark: (
      inbox: Inbox,
      id: string,
      marks: Partial<Pick<EntryRow, "read_at" | "seen_at" | "archived_at">>,
      now: Date,
    ): Promise<EntryRow | undefined> => {
      const kept = Object.entries(marks).map(([column, at]) => [
        column,
        // The first time counts.
        at === null ? null : sql`coalesce(${sql.ref(`entry.${column}`)}, ${at})`,
      ])
      return marking(inbox, now)
        .set(Object.fromEntries(kept))
        .where("entry.id", "=", id)
        .returningAll("entry")
        .executeTakeFirst()
    },

    async readAll(
      inbox: Inbox,
      { category, before }: { category: string | undefined; before: Date | undefined },
      now: Date,
    ): Promise<number> {
      const { numUpdatedRows } = await marking(inbox, now)
        .set({ read_at: now, seen_at: sql`coalesce(entry.seen_at, ${now})` })
        .where(sql<SqlBool>`entry.in_app AND entry.read_at IS NULL AND entry.archived_at IS NULL`)
        .$if(before !== undefined, query => query.where("entry.created_at", "<=", before ?? now))
        .$if(category !== undefined, query =>
          query.where(({ exists, selectFrom }) =>
            exists(
              selectFrom("notifications.messages as message")
                .whereRef("message.id", "=", "entry.id")
                .where("message.category", "=", category ?? "")
                .select("message.id"),
            ),
          ),
        )
        .executeTakeFirst()
      return Number(numUpdatedRows)
    },

    deliveries: ({ organizationId, userId }: Inbox, ids: readonly string[]): Promise<DeliveryRow[]> =>
      ids.length === 0
        ? Promise.resolve([])
        : db
            .selectFrom("notifications.deliveries")
            .where("organization_id", "=", organizationId)
            .where("user_id", "=", userId)
            .where("notification_id", "in", [...ids])
            .selectAll()
            .orderBy("id")
            .execute(),
  }
}
