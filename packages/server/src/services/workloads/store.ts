import { expressionBuilder, type Kysely, sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { listRows, type Slice } from "../../kernel/db/listing.ts"
import type { WorkloadOwner } from "./lookup.ts"
import type { WorkloadColumns, WorkloadRow, WorkloadTablePolicy } from "./policy.ts"

interface SomeTable {
  workloads: WorkloadColumns
}

/** All kinds have the same columns here, so one statement serves each table. */
const open = (db: Db, { table }: WorkloadTablePolicy) => ({
  db: db as unknown as Kysely<SomeTable>,
  table: table as string as "workloads",
})

const { and, or, eb } = (() => {
  const builder = expressionBuilder<SomeTable, "workloads">()
  return { and: builder.and, or: builder.or, eb: builder }
})()

const ALL = sql<boolean>`true`

const isActive = ({ states }: WorkloadTablePolicy) => eb("status", "in", [states.starting, "RUNNING"])

/** Rows of a kind's table, as callers see and change them. */
export const workloadStore = <Row extends WorkloadRow>(of: Db, policy: WorkloadTablePolicy) => {
  const { db, table } = open(of, policy)
  const isOwned = ({ organizationId, ownerId }: WorkloadOwner) =>
    and([eb("organization_id", "=", organizationId), eb("owner_id", "=", ownerId)])
  const find = (owner: WorkloadOwner, id: string) =>
    db.selectFrom(table).selectAll().where(isOwned(owner)).where("id", "=", id).$castTo<Row>()

  return {
    find: (owner: WorkloadOwner, id: string): Promise<Row | undefined> => find(owner, id).executeTakeFirst(),

    /** For a change that depends on what is there. */
    findForUpdate: (owner: WorkloadOwner, id: string): Promise<Row | undefined> =>
      find(owner, id).forNoKeyUpdate().executeTakeFirst(),

    /** Newest first; with values, those that have them. */
    list(owner: WorkloadOwner, slice: Slice, having: Readonly<Record<string, string | undefined>> = {}) {
      const conditions = Object.entries(having).flatMap(([column, value]) =>
        value === undefined ? [] : [sql<boolean>`${sql.ref(column)} = ${value}`],
      )
      const query = db
        .selectFrom(table)
        .selectAll()
        .where(and([isOwned(owner), ...conditions]))
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
      return listRows(query.$castTo<Row>(), slice)
    },

    /** How many of an organization run or have a disk. */
    async count(organizationId: string): Promise<number> {
      const { total } = await db
        .selectFrom(table)
        .select(({ fn }) => fn.countAll<number>().as("total"))
        .where("organization_id", "=", organizationId)
        .where(or([policy.persistent ?? ALL, isActive(policy)]))
        .executeTakeFirstOrThrow()
      return total
    },

    /** Changes one; undefined when it is gone, or in none of the states where they are given. */
    update(
      organizationId: string,
      id: string,
      changes: Partial<Row>,
      from?: readonly string[],
    ): Promise<Row | undefined> {
      const one = db
        .updateTable(table)
        .set(changes as object)
        .where("organization_id", "=", organizationId)
        .where("id", "=", id)
      const chosen = from ? one.where("status", "in", from) : one
      return chosen.returningAll().$castTo<Row>().executeTakeFirst()
    },

    delete: (owner: WorkloadOwner, id: string): Promise<Row | undefined> =>
      db
        .deleteFrom(table)
        .where(isOwned(owner))
        .where("id", "=", id)
        .returningAll()
        .$castTo<Row>()
        .executeTakeFirst(),
  }
}

/** The same rows as hosts see them: of all tenants, by where their disks are. */
export const hostedWorkloads = <Row extends WorkloadRow>(of: Db, policy: WorkloadTablePolicy) => {
  const { db, table } = open(of, policy)
  const persistent = policy.persistent ?? ALL
  const onHost = (hostId: string) => db.selectFrom(table).where("host_id", "=", hostId)

  return {
    /** Records of those that should run on these hosts that they do not. */
    lose: (hostIds: readonly string[], which: "all" | "ephemeral", changes: Partial<Row>): Promise<Row[]> =>
      db
        .updateTable(table)
        .set(changes as object)
        .where("host_id", "in", hostIds)
        .where(which === "all" ? ALL : eb.not(persistent))
        .where(isActive(policy))
        .returningAll()
        .$castTo<Row>()
        .execute(),

    /** What should run here: what did, and what other hosts took for lost meanwhile. */
    shouldRun: (hostId: string): Promise<Row[]> =>
      onHost(hostId)
        .selectAll()
        .where(persistent)
        .where(or([isActive(policy), policy.hostLost]))
        .orderBy("created_at")
        .$castTo<Row>()
        .execute(),

    /** One of this host, and whether it should run; undefined when it was deleted. */
    async find(hostId: string, id: string) {
      const found = await onHost(hostId)
        .selectAll()
        .select([isActive(policy).as("is_active"), policy.hostLost.as("is_host_lost")])
        .where("id", "=", id)
        .executeTakeFirst()
      if (!found) return undefined
      const { is_active, is_host_lost, ...row } = found
      return { row: row as unknown as Row, isActive: Boolean(is_active), isHostLost: Boolean(is_host_lost) }
    },

    /** Those whose disks must stay. */
    async persistentIds(hostId: string): Promise<string[]> {
      const rows = await onHost(hostId).select("id").where(persistent).execute()
      return rows.map(({ id }) => id)
    },

    /** Images of those that run or may run again. */
    async imageDigests(hostId: string): Promise<string[]> {
      const rows = await onHost(hostId)
        .select("image_digest")
        .distinct()
        .where(or([persistent, isActive(policy)]))
        .execute()
      return rows.flatMap(({ image_digest }) => image_digest ?? [])
    },

    disks: (hostId: string) =>
      onHost(hostId)
        .select(({ fn }) => ["organization_id", "project_id", fn.sum<number>("disk_gb").as("disk_gb")])
        .where(persistent)
        .groupBy(["organization_id", "project_id"])
        .execute(),
  }
}
