import type { Insertable, Selectable } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import type { Move } from "./rules.ts"

export type EventRow = Selectable<Tables["integrations.events"]>
export type NewEvent = Insertable<Tables["integrations.events"]>
export type HeadRow = Tables["integrations.heads"]

/** Rows in one statement, well below what a statement may have parameters. */
const ROWS_MAX = 500
const MOVES_MAX = 1_000

/** Rows of integrations.events and integrations.heads. Every statement of a call names the tenant. */
export const eventStore = (db: Db) => {
  const of = (organizationId: string, integrationId: string) =>
    db
      .selectFrom("integrations.events")
      .where("organization_id", "=", organizationId)
      .where("integration_id", "=", integrationId)

  return {
    /** Leaves out deliveries that are there already; gives the ids of the others. */
    async insert(rows: readonly NewEvent[]): Promise<string[]> {
      const inserted: string[] = []
      for (let at = 0; at < rows.length; at += ROWS_MAX) {
        const ids = await db
          .insertInto("integrations.events")
          .values(rows.slice(at, at + ROWS_MAX))
          .onConflict(conflict => conflict.columns(["integration_id", "delivery_id", "part"]).doNothing())
          .returning("id")
          .execute()
        inserted.push(...ids.map(({ id }) => id))
      }
      return inserted
    },

    find: (organizationId: string, integrationId: string, id: string): Promise<EventRow | undefined> =>
      of(organizationId, integrationId).selectAll().where("id", "=", id).executeTakeFirst(),

    findDelivery: (
      organizationId: string,
      integrationId: string,
      deliveryId: string,
    ): Promise<EventRow | undefined> =>
      of(organizationId, integrationId)
        .selectAll()
        .where("delivery_id", "=", deliveryId)
        .orderBy("part")
        .executeTakeFirst(),

    list(
      organizationId: string,
      integrationId: string,
      { status, ...slice }: Slice & { readonly status: string | undefined },
    ): Promise<{ rows: EventRow[]; total: number }> {
      const all = of(organizationId, integrationId)
      const chosen = status === undefined ? all : all.where("status", "=", status)
      return listRows(chosen.selectAll().orderBy("received_at", "desc").orderBy("id", "desc"), slice)
    },

    update: async (organizationId: string, id: string, changes: Partial<NewEvent>) => {
      await db
        .updateTable("integrations.events")
        .set(changes)
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .execute()
    },

    /** The moves of a ref that were taken for new, the newest first. */
    async moves(organizationId: string, integrationId: string, ref: string): Promise<Move[]> {
      const rows = await of(organizationId, integrationId)
        .select(["commit", "commit_before"])
        .where("ref", "=", ref)
        .where("is_new", "=", true)
        .orderBy("id", "desc")
        .limit(MOVES_MAX)
        .execute()
      return rows.flatMap(({ commit, commit_before }) =>
        commit === null ? [] : [{ commit, before: commit_before }],
      )
    },

    /** Whether that commit of a pull request was handed on before. */
    async isBuilt(
      organizationId: string,
      integrationId: string,
      ref: string,
      commit: string,
    ): Promise<boolean> {
      const row = await of(organizationId, integrationId)
        .select("id")
        .where("ref", "=", ref)
        .where("type", "=", "pull_request")
        .where("commit", "=", commit)
        .where("is_new", "=", true)
        .limit(1)
        .executeTakeFirst()
      return row !== undefined
    },

    heads: (organizationId: string, integrationId: string): Promise<HeadRow[]> =>
      db
        .selectFrom("integrations.heads")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .where("integration_id", "=", integrationId)
        .execute(),

    head: (organizationId: string, integrationId: string, ref: string): Promise<HeadRow | undefined> =>
      db
        .selectFrom("integrations.heads")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .where("integration_id", "=", integrationId)
        .where("ref", "=", ref)
        .executeTakeFirst(),

    async putHeads(rows: readonly HeadRow[]) {
      for (let at = 0; at < rows.length; at += ROWS_MAX) {
        await db
          .insertInto("integrations.heads")
          .values(rows.slice(at, at + ROWS_MAX))
          .onConflict(conflict =>
            conflict.columns(["integration_id", "ref"]).doUpdateSet(({ ref }) => ({
              commit: ref("excluded.commit"),
              known_at: ref("excluded.known_at"),
            })),
          )
          .execute()
      }
    },

    async deleteHeads(organizationId: string, integrationId: string, refs: readonly string[]) {
      if (refs.length === 0) return
      await db
        .deleteFrom("integrations.heads")
        .where("organization_id", "=", organizationId)
        .where("integration_id", "=", integrationId)
        .where("ref", "in", [...refs])
        .execute()
    },

    deleteAllHeads: async (organizationId: string, integrationId: string) => {
      await db
        .deleteFrom("integrations.heads")
        .where("organization_id", "=", organizationId)
        .where("integration_id", "=", integrationId)
        .execute()
    },

    /** Forgets at most so many events that came before that time; gives how many there were. */
    async prune(before: Date, limit: number): Promise<number> {
      const { numDeletedRows } = await db
        .deleteFrom("integrations.events")
        .where("id", "in", old =>
          old.selectFrom("integrations.events").select("id").where("received_at", "<", before).limit(limit),
        )
        .executeTakeFirst()
      return Number(numDeletedRows)
    },
  }
}
