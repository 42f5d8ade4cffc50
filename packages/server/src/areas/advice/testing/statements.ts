/** A cluster with data enough that an index matters, and the optimizer over it. */
import type { TestContext } from "node:test"
import type pg from "pg"
import type { PgVersion } from "../../../ports/engine/port.ts"
import type { Target } from "../../../services/postgres/target.ts"
import type { WithTemporaryBranch } from "../../databases/offers.ts"
import { createOptimizer, type Request } from "../optimize/optimize.ts"
import { startInstance } from "./instance.ts"

export const SHOP = `
  CREATE TABLE customers (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, email text NOT NULL, name text NOT NULL,
    deleted_at timestamptz, tags text[] NOT NULL, profile jsonb NOT NULL);
  CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer_id bigint NOT NULL,
    status text NOT NULL, total numeric NOT NULL, paid boolean NOT NULL, placed_at timestamptz NOT NULL);
  INSERT INTO customers (email, name, deleted_at, tags, profile)
    SELECT 'Person' || n || '@example.com', md5(n::text) || ' ' || md5((n * 7)::text),
      CASE WHEN n % 200 = 0 THEN now() END, ARRAY['t' || n % 500, 'all'],
      jsonb_build_object('city', 'c' || n % 700, 'age', n % 90, 'nested', jsonb_build_object('n', n))
    FROM generate_series(1, 20000) AS n;
  INSERT INTO orders (customer_id, status, total, paid, placed_at)
    SELECT 1 + (n * 7919) % 20000, CASE WHEN n % 100 = 0 THEN 'open' ELSE 'done' END, n % 1000, n % 150 <> 0,
      timestamptz '2026-01-01' + n * interval '1 minute'
    FROM generate_series(1, 60000) AS n;
  ANALYZE`

export const TARGET: Target = {
  organizationId: "00000000-0000-4000-8000-000000000001",
  projectId: "00000000-0000-4000-8000-000000000002",
  databaseId: "00000000-0000-4000-8000-000000000003",
  branchId: "00000000-0000-4000-8000-000000000004",
  volume: { id: "00000000-0000-4000-8000-000000000005", pgVersion: 17, tier: "shared" },
}

/** The branch is the database itself unless another is given: what is tried there must leave no trace anyway. */
export const startShop = async (
  t: TestContext,
  version: PgVersion,
  options: { readonly setup?: string; readonly withTemporaryBranch?: WithTemporaryBranch } = {},
) => {
  const cluster = await startInstance(t, version)
  // Sessions that are opened after the setup have what it set for the role.
  const setup = cluster.pool("owner", { max: 1 })
  await setup.query(options.setup ?? SHOP)
  await setup.end()
  await cluster.pool("svc_admin", { max: 1 }).query("SELECT svc_internal.pg_stat_statements_reset()")
  const pool = cluster.pool("owner")
  const withClient = async <Result>(
    from: pg.Pool,
    work: (client: pg.PoolClient) => Promise<Result>,
  ): Promise<Result> => {
    const client = await from.connect()
    try {
      const result = await work(client)
      await client.query("DISCARD ALL")
      client.release()
      return result
    } catch (error) {
      client.release(true)
      throw error
    }
  }
  const onItself: WithTemporaryBranch = (_, work) => withClient(pool, client => work({ client, wakeMs: 0 }))
  const optimize = createOptimizer({
    withTemporaryBranch: options.withTemporaryBranch ?? onItself,
    withSession: (_, work) => withClient(pool, work),
  })
  return {
    cluster,
    pool,
    withClient,
    optimize: (request: Request) =>
      optimize({ ...TARGET, volume: { ...TARGET.volume, pgVersion: version } }, request, new Date()),
  }
}
