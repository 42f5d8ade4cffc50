import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Db } from "../../kernel/db/database.ts"
import { createPushedCache } from "../../kernel/pushed-cache.ts"
import type { PgVersion, Tier, VolumeCredentials } from "../../ports/engine/port.ts"
import type { Target } from "../../services/postgres/target.ts"
import type { BranchQuery } from "./offers.ts"

/** A branch that can be used, with what it takes to use it. Frozen: it lives in a cache. */
export interface ReadyBranch extends Target {
  readonly databaseName: string
  readonly branchName: string
  readonly suspendTimeoutSeconds: number
  readonly historyRetentionSeconds: number
  readonly credentials: VolumeCredentials
}

export interface Directory {
  /** Without a database: the project's default one. Without a branch: the database's default one. */
  find(query: BranchQuery): Promise<ReadyBranch | undefined>
  /** By the id alone, for the wire, where the password is the proof. Not cached. */
  findById(branchId: string): Promise<ReadyBranch | undefined>
  findByVolume(volumeId: string): Promise<ReadyBranch | undefined>
}

/** The topic under which changes of databases and branches are announced. */
export const DATABASE_TOPIC = "database"
const CACHED_MAX = 20_000

export const sealedFor = (branchId: string): string => `database:${branchId}`

const readyBranches = (db: Db) =>
  db
    .selectFrom("databases.branches as branch")
    .innerJoin("databases.databases as database", "database.id", "branch.database_id")
    .innerJoin("databases.volumes as volume", "volume.id", "branch.volume_id")
    // With a deleted organization the keys went that its credentials are sealed under.
    .innerJoin("core.organizations as organization", "organization.id", "database.organization_id")
    .where("organization.deleted_at", "is", null)
    .select([
      "branch.id as branch_id",
      "branch.name as branch_name",
      "branch.credentials",
      "branch.volume_id",
      "volume.pg_version",
      "volume.isolation",
      "volume.read_only",
      "database.id as database_id",
      "database.name as database_name",
      "database.organization_id",
      "database.project_id",
      "database.suspend_timeout_seconds",
      "database.history_retention_seconds",
    ])
    .where("database.state", "=", "active")
    .where("branch.state", "=", "ready")

type Row = Awaited<ReturnType<ReturnType<typeof readyBranches>["executeTakeFirstOrThrow"]>>

export const createDirectory = (db: Db, changes: Changes, box: SecretBox): Directory => {
  const toBranch = async (row: Row): Promise<ReadyBranch> =>
    Object.freeze({
      organizationId: row.organization_id,
      projectId: row.project_id,
      databaseId: row.database_id,
      branchId: row.branch_id,
      volume: {
        id: row.volume_id,
        pgVersion: row.pg_version as PgVersion,
        tier: row.isolation as Tier,
      },
      isFull: row.read_only,
      databaseName: row.database_name,
      branchName: row.branch_name,
      suspendTimeoutSeconds: row.suspend_timeout_seconds,
      historyRetentionSeconds: row.history_retention_seconds,
      credentials: JSON.parse(await box.open(row.organization_id, sealedFor(row.branch_id), row.credentials)),
    })

  const read = async (key: string): Promise<ReadyBranch | undefined> => {
    const [organizationId = "", projectId = "", databaseId = "", branchId = ""] = key.split("|")
    const row = await readyBranches(db)
      .where("database.organization_id", "=", organizationId)
      .where("database.project_id", "=", projectId)
      .$if(databaseId !== "", query => query.where("database.id", "=", databaseId))
      .$if(databaseId === "" && branchId === "", query => query.where("database.is_default", "=", true))
      .$if(branchId !== "", query => query.where("branch.id", "=", branchId))
      .$if(branchId === "", query => query.whereRef("branch.id", "=", "database.default_branch_id"))
      .executeTakeFirst()
    return row && toBranch(row)
  }

  const known = createPushedCache<ReadyBranch | undefined>({
    changes,
    topics: { [DATABASE_TOPIC]: "all" },
    read,
    idOf: branch => branch?.branchId,
    entriesMax: CACHED_MAX,
  })

  return {
    find: async ({ organizationId, projectId, databaseId = "", branchId = "" }) =>
      known.find([organizationId, projectId, databaseId, branchId].join("|").toLowerCase()),
    async findById(branchId) {
      const row = await readyBranches(db).where("branch.id", "=", branchId).executeTakeFirst()
      return row && toBranch(row)
    },
    async findByVolume(volumeId) {
      const row = await readyBranches(db).where("branch.volume_id", "=", volumeId).executeTakeFirst()
      return row && toBranch(row)
    },
  }
}
