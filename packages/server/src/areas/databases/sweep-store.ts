import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { DatabaseRow, VolumeRow } from "./store.ts"

/** Creators that are gone: those whose leases ended, and a process that had the data folder of this one before. */
export interface Gone {
  readonly now: Date
  readonly creatorId?: string
}

/** A volume without a lease is older than leases. */
const isAbandoned = ({ now, creatorId }: Gone) =>
  sql<boolean>`volume.state = 'creating' AND
    (volume.lease_until IS NULL OR volume.lease_until < ${now} OR volume.creator_id = ${creatorId ?? null}::uuid)`

/** What the area's own workers read, across tenants. */
export const sweepStore = (db: Db) => ({
  /** Deleted databases whose grace has passed. */
  purgeable: (now: Date, limit: number): Promise<DatabaseRow[]> =>
    db
      .selectFrom("databases.databases")
      .selectAll()
      .where("state", "=", "deleted")
      .where("purge_at", "<=", now)
      .orderBy("purge_at")
      .limit(limit)
      .execute(),

  /** Active databases of projects that were deleted, by themselves or with their organization. */
  orphaned: (limit: number): Promise<DatabaseRow[]> =>
    db
      .selectFrom("databases.databases as database")
      .innerJoin("core.projects as project", "project.id", "database.project_id")
      .innerJoin("core.organizations as organization", "organization.id", "database.organization_id")
      .selectAll("database")
      .where("database.state", "=", "active")
      .where(({ or, eb }) =>
        or([eb("project.deleted_at", "is not", null), eb("organization.deleted_at", "is not", null)]),
      )
      .limit(limit)
      .execute(),

  /** Branches whose time is over, those without children first. */
  expiredBranches: (now: Date, limit: number) =>
    db
      .selectFrom("databases.branches as branch")
      .select(["branch.id", "branch.organization_id", "branch.database_id"])
      .where("branch.expires_at", "<=", now)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom("databases.branches as child")
              .select("child.id")
              .whereRef("child.parent_id", "=", "branch.id"),
          ),
        ),
      )
      .limit(limit)
      .execute(),

  /** Volumes that nobody will ever use: doomed ones, and those whose creator is gone. */
  unfinished: (gone: Gone, limit: number): Promise<VolumeRow[]> =>
    db
      .selectFrom("databases.volumes as volume")
      .selectAll()
      .where(({ or, eb }) => or([eb("state", "=", "doomed"), isAbandoned(gone)]))
      .orderBy("created_at")
      .limit(limit)
      .execute(),

  /** Databases whose creator is gone. */
  abandoned: (gone: Gone): Promise<DatabaseRow[]> =>
    db
      .selectFrom("databases.databases as database")
      .innerJoin("databases.branches as branch", "branch.id", "database.default_branch_id")
      .innerJoin("databases.volumes as volume", "volume.id", "branch.volume_id")
      .selectAll("database")
      .where("database.state", "=", "creating")
      .where(isAbandoned(gone))
      .execute(),

  abandonedBranches: (gone: Gone) =>
    db
      .selectFrom("databases.branches as branch")
      .innerJoin("databases.databases as database", "database.id", "branch.database_id")
      .innerJoin("databases.volumes as volume", "volume.id", "branch.volume_id")
      .select(["branch.id", "branch.organization_id", "branch.volume_id"])
      .where("branch.state", "=", "creating")
      .where("database.state", "<>", "creating")
      .where(isAbandoned(gone))
      .execute(),

  /** Every volume in use, with how much history it keeps, for pruning. */
  volumesInUse: (after: string, limit: number) =>
    db
      .selectFrom("databases.volumes as volume")
      .innerJoin("databases.databases as database", "database.id", "volume.database_id")
      .select([
        "volume.id",
        "volume.organization_id",
        "volume.pg_version",
        "volume.isolation",
        "database.history_retention_seconds",
      ])
      .where("volume.state", "=", "ready")
      .where("volume.id", ">", after)
      .orderBy("volume.id")
      .limit(limit)
      .execute(),

  insertWake: async (row: {
    branch_id: string
    organization_id: string
    started_at: Date
    ended_at: Date | null
    wake_ms: number
  }) => {
    await db
      .insertInto("databases.wakes")
      .values(row)
      .onConflict(conflict => conflict.doNothing())
      .execute()
  },

  endWake: async (organizationId: string, branchId: string, startedAt: Date, endedAt: Date) => {
    await db
      .updateTable("databases.wakes")
      .set({ ended_at: endedAt })
      .where("organization_id", "=", organizationId)
      .where("branch_id", "=", branchId)
      .where("started_at", "=", startedAt)
      .execute()
  },

  /** Wakes that the end of a process left open count as over when it started again. */
  closeWakes: async (now: Date) => {
    await db.updateTable("databases.wakes").set({ ended_at: now }).where("ended_at", "is", null).execute()
  },

  forgetWakes: async (before: Date) => {
    await db.deleteFrom("databases.wakes").where("started_at", "<", before).execute()
  },
})
