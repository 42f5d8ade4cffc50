import type { SandboxKind, SandboxStopReason } from "@svc/contract"
import type { Insertable, Selectable, Updateable } from "kysely"
import type { WorkloadOwner } from "../../core/workloads/lookup.ts"
import type { Db } from "../../kernel/db/database.ts"
import { listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"

export type SandboxRow = Selectable<Tables["sandboxes.sandboxes"]>

interface Listing extends Slice {
  readonly status: string | undefined
  readonly kind: SandboxKind | undefined
}

/** Rows of sandboxes.sandboxes, as callers see and change them. */
export const sandboxStore = (db: Db) => {
  const owned = ({ organizationId, ownerId }: WorkloadOwner) =>
    db
      .selectFrom("sandboxes.sandboxes")
      .where("organization_id", "=", organizationId)
      .where("owner_id", "=", ownerId)

  return {
    insert: async (row: Insertable<Tables["sandboxes.sandboxes"]>): Promise<SandboxRow> =>
      await db.insertInto("sandboxes.sandboxes").values(row).returningAll().executeTakeFirstOrThrow(),

    find: (owner: WorkloadOwner, id: string): Promise<SandboxRow | undefined> =>
      owned(owner).selectAll().where("id", "=", id).executeTakeFirst(),

    async list(owner: WorkloadOwner, { status, kind, ...slice }: Listing) {
      let chosen = owned(owner)
      if (status !== undefined) chosen = chosen.where("status", "=", status)
      if (kind !== undefined) chosen = chosen.where("kind", "=", kind)
      return await listRows(chosen.selectAll().orderBy("created_at", "desc").orderBy("id", "desc"), slice)
    },

    /** Those that run or have a disk. */
    async count(organizationId: string): Promise<number> {
      const { total } = await db
        .selectFrom("sandboxes.sandboxes")
        .select(({ fn }) => fn.countAll<number>().as("total"))
        .where("organization_id", "=", organizationId)
        .where(eb => eb.or([eb("kind", "=", "persistent"), eb("status", "in", ["PROVISIONING", "RUNNING"])]))
        .executeTakeFirstOrThrow()
      return total
    },

    /** Changes one that is in one of these states; undefined when it is in another, or gone. */
    update: (
      organizationId: string,
      id: string,
      from: readonly SandboxRow["status"][],
      changes: Updateable<Tables["sandboxes.sandboxes"]>,
    ): Promise<SandboxRow | undefined> =>
      db
        .updateTable("sandboxes.sandboxes")
        .set(changes)
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
        .where("status", "in", from)
        .returningAll()
        .executeTakeFirst(),

    delete: async ({ organizationId, ownerId }: WorkloadOwner, id: string): Promise<SandboxRow | undefined> =>
      await db
        .deleteFrom("sandboxes.sandboxes")
        .where("organization_id", "=", organizationId)
        .where("owner_id", "=", ownerId)
        .where("id", "=", id)
        .returningAll()
        .executeTakeFirst(),
  }
}

const PRUNED_AT_ONCE = 1_000

/** The same rows as hosts see them: of all tenants, by where they run. */
export const hostedSandboxes = (db: Db) => {
  const of = (hostIds: readonly string[]) =>
    db.selectFrom("sandboxes.sandboxes").where("host_id", "in", hostIds)

  return {
    /** Where a sandbox is; its id is proof enough that one was told of it. */
    hostOf: async (id: string): Promise<string | undefined> =>
      (await db.selectFrom("sandboxes.sandboxes").select("host_id").where("id", "=", id).executeTakeFirst())
        ?.host_id,

    /** Ends on record all that ran on these hosts. */
    lose: async (
      hostIds: readonly string[],
      kinds: readonly SandboxKind[],
      now: Date,
      reason: SandboxStopReason,
    ): Promise<SandboxRow[]> =>
      await db
        .updateTable("sandboxes.sandboxes")
        .set({ status: "STOPPED", stop_reason: reason, expires_at: null, stopped_at: now, updated_at: now })
        .where("host_id", "in", hostIds)
        .where("kind", "in", kinds)
        .where("status", "in", ["PROVISIONING", "RUNNING"])
        .returningAll()
        .execute(),

    /** What should run here: what did, and what others took for lost meanwhile. */
    shouldRun: (hostId: string): Promise<SandboxRow[]> =>
      of([hostId])
        .selectAll()
        .where("kind", "=", "persistent")
        .where(eb =>
          eb.or([
            eb("status", "in", ["PROVISIONING", "RUNNING"]),
            eb.and([eb("status", "=", "STOPPED"), eb("stop_reason", "=", "host_lost")]),
          ]),
        )
        .orderBy("created_at")
        .execute(),

    /** Those whose disks must stay. */
    async persistentIds(hostId: string): Promise<string[]> {
      const rows = await of([hostId]).select("id").where("kind", "=", "persistent").execute()
      return rows.map(({ id }) => id)
    },

    /** Images of those that run or may run again. */
    async imageDigests(hostId: string): Promise<string[]> {
      const rows = await of([hostId])
        .select("image_digest")
        .distinct()
        .where(eb => eb.or([eb("kind", "=", "persistent"), eb("status", "in", ["PROVISIONING", "RUNNING"])]))
        .execute()
      return rows.flatMap(({ image_digest }) => image_digest ?? [])
    },

    /** Of these, those that are not meant to run. */
    async ended(hostId: string, ids: readonly string[]): Promise<string[]> {
      const rows = await of([hostId])
        .select("id")
        .where("id", "in", ids)
        .where("status", "in", ["PROVISIONING", "RUNNING"])
        .execute()
      const meant = new Set(rows.map(({ id }) => id))
      return ids.filter(id => !meant.has(id))
    },

    disks: (hostId: string) =>
      of([hostId])
        .select(({ fn }) => ["organization_id", "project_id", fn.sum<number>("disk_gb").as("disk_gb")])
        .where("kind", "=", "persistent")
        .groupBy(["organization_id", "project_id"])
        .execute(),

    /** Forgets ephemeral ones that ended before. */
    async prune(before: Date): Promise<void> {
      for (;;) {
        const { numDeletedRows } = await db
          .deleteFrom("sandboxes.sandboxes")
          .where("id", "in", eb =>
            eb
              .selectFrom("sandboxes.sandboxes")
              .select("id")
              .where("kind", "=", "ephemeral")
              .where("status", "in", ["STOPPED", "FAILED"])
              .where("stopped_at", "<", before)
              .limit(PRUNED_AT_ONCE),
          )
          .executeTakeFirstOrThrow()
        if (numDeletedRows < PRUNED_AT_ONCE) return
      }
    },
  }
}
