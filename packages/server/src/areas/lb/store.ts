import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import { countRows, listRows, type Slice } from "../../kernel/db/listing.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import type { BalancerConfig, HealthCheckConfig, StickyConfig } from "./config.ts"

type StoredRow = Tables["lb.load_balancers"]

export type BalancerRow = Omit<StoredRow, "health_check" | "sticky_sessions" | "waf_enabled" | "waf_mode"> & {
  readonly waf_enabled: boolean
  readonly waf_mode: string
  readonly health_check: HealthCheckConfig
  readonly sticky_sessions: StickyConfig
}
export type BackendRow = Tables["lb.backends"]

const stored = <Row extends Partial<BalancerRow>>({ health_check, sticky_sessions, ...row }: Row) => ({
  ...row,
  ...(health_check && { health_check: JSON.stringify(health_check) }),
  ...(sticky_sessions && { sticky_sessions: JSON.stringify(sticky_sessions) }),
})

/** Rows of lb.load_balancers and lb.backends. Every statement of a call names the project. */
export const lbStore = (db: Db) => {
  const own = (projectId: string) => db.selectFrom("lb.load_balancers").where("project_id", "=", projectId)

  return {
    insert: async (row: BalancerRow) => {
      await db
        .insertInto("lb.load_balancers")
        .values(stored(row) as never)
        .execute()
    },

    find: async (projectId: string, id: string) =>
      (await own(projectId).where("id", "=", id).selectAll().executeTakeFirst()) as BalancerRow | undefined,

    /** The row, locked until the transaction ends: changes of one load balancer and its backends take turns. */
    findForUpdate: async (projectId: string, id: string) =>
      (await own(projectId).where("id", "=", id).selectAll().forUpdate().executeTakeFirst()) as
        | BalancerRow
        | undefined,

    async list(projectId: string, slice: Slice) {
      const query = own(projectId).selectAll().orderBy("created_at", "desc").orderBy("id", "desc")
      const { rows, total } = await listRows(query, slice)
      return { rows: rows as unknown as BalancerRow[], total }
    },

    /** How many the project has; holds a lock that keeps others from adding one until the transaction ends. */
    countToCreate: async (projectId: string): Promise<number> => {
      await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`lb.created:${projectId}`}, 0))`.execute(db)
      return countRows(own(projectId))
    },

    update: async (projectId: string, id: string, change: Partial<BalancerRow>) => {
      await db
        .updateTable("lb.load_balancers")
        .set(stored(change) as never)
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .execute()
    },

    delete: async (projectId: string, id: string) => {
      await db
        .deleteFrom("lb.load_balancers")
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .execute()
    },

    insertBackends: async (rows: readonly BackendRow[]) => {
      if (rows.length > 0)
        await db
          .insertInto("lb.backends")
          .values([...rows])
          .execute()
    },

    backendsOf: async (projectId: string, ids: readonly string[]): Promise<BackendRow[]> =>
      ids.length === 0
        ? []
        : await db
            .selectFrom("lb.backends")
            .where("project_id", "=", projectId)
            .where("load_balancer_id", "in", [...ids])
            .selectAll()
            .orderBy("created_at")
            .orderBy("id")
            .execute(),

    findBackend: (projectId: string, balancerId: string, id: string): Promise<BackendRow | undefined> =>
      db
        .selectFrom("lb.backends")
        .where("project_id", "=", projectId)
        .where("load_balancer_id", "=", balancerId)
        .where("id", "=", id)
        .selectAll()
        .executeTakeFirst(),

    updateBackend: async (projectId: string, id: string, change: Partial<BackendRow>) => {
      await db
        .updateTable("lb.backends")
        .set(change)
        .where("project_id", "=", projectId)
        .where("id", "=", id)
        .execute()
    },

    deleteBackend: async (projectId: string, id: string) => {
      await db.deleteFrom("lb.backends").where("project_id", "=", projectId).where("id", "=", id).execute()
    },
  }
}

const PAGE = 1_000

/** What the data plane reads: of all tenants, because requests name none. */
export const configStore = (db: Db) => {
  const live = () =>
    db
      .selectFrom("lb.load_balancers as balancer")
      .innerJoin("core.projects as project", "project.id", "balancer.project_id")
      .innerJoin("core.organizations as organization", "organization.id", "balancer.organization_id")
      .where("project.deleted_at", "is", null)
      .where("organization.deleted_at", "is", null)
      .selectAll("balancer")
      .orderBy("balancer.id")

  const withBackends = async (rows: readonly BalancerRow[]): Promise<BalancerConfig[]> => {
    if (rows.length === 0) return []
    const backends = await db
      .selectFrom("lb.backends")
      .where(
        "load_balancer_id",
        "in",
        rows.map(({ id }) => id),
      )
      .selectAll()
      .orderBy("created_at")
      .orderBy("id")
      .execute()
    const byBalancer = Map.groupBy(backends, ({ load_balancer_id }) => load_balancer_id)
    return rows.map(row => ({ ...row, backends: byBalancer.get(row.id) ?? [] }))
  }

  return {
    async find(id: string): Promise<BalancerConfig | undefined> {
      const row = await live().where("balancer.id", "=", id).executeTakeFirst()
      return (await withBackends(row ? [row as unknown as BalancerRow] : []))[0]
    },

    idsOfProject: async (projectId: string): Promise<string[]> => {
      const rows = await db
        .selectFrom("lb.load_balancers")
        .where("project_id", "=", projectId)
        .select("id")
        .execute()
      return rows.map(({ id }) => id)
    },

    async *all(): AsyncGenerator<BalancerConfig[]> {
      for (let after = ""; ; ) {
        const rows = (await live()
          .$if(after !== "", query => query.where("balancer.id", ">", after))
          .limit(PAGE)
          .execute()) as unknown as BalancerRow[]
        yield await withBackends(rows)
        const last = rows.at(-1)
        if (!last || rows.length < PAGE) return
        after = last.id
      }
    },
  }
}
