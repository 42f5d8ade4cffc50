/** Every check finds what it is for, on every version, and a healthy database has no findings. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type pg from "pg"
import { pgVersions } from "../../ports/engine/port.ts"
import type { TestCluster } from "../../testing/cluster.ts"
import { checks, runChecks } from "./anomalies.ts"
import { type Finding, LIMITS, type Limits } from "./findings.ts"
import { inspect } from "./inspect.ts"
import { startInstance } from "./testing/instance.ts"

const check = async (
  cluster: TestCluster,
  limits: Partial<Limits> = {},
  options: { inspector?: pg.Pool } = {},
): Promise<Finding[]> => {
  const client = await (options.inspector ?? cluster.pool("owner")).connect()
  try {
    const { findings, skipped } = await inspect(client, cluster.version, inspection =>
      runChecks(inspection, { ...LIMITS, ...limits }),
    )
    assert.deepEqual(skipped, [])
    return findings
  } finally {
    client.release()
  }
}

/** The findings of one check, by the name of the thing they are about. */
const of = (findings: readonly Finding[], name: string, field: string) =>
  findings.filter(finding => finding.name === name).map(finding => finding.metadata[field])

const HEALTHY = `
  CREATE TABLE customers (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, email text NOT NULL UNIQUE, made_at timestamptz);
  CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer_id bigint NOT NULL REFERENCES customers, total numeric NOT NULL, placed_at timestamptz NOT NULL);
  CREATE INDEX ON orders (customer_id, placed_at);
  CREATE INDEX ON orders (placed_at);
  CREATE TABLE events (id bigint, at timestamptz NOT NULL, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
  CREATE TABLE events_2026 PARTITION OF events FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
  CREATE INDEX ON events (at);
  ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
  CREATE POLICY everyone ON orders USING (true);
  CREATE FUNCTION safe() RETURNS int LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS 'SELECT 1';
  CREATE EXTENSION pg_trgm;
  INSERT INTO customers (email, made_at) SELECT 'c' || n || '@example.com', now() FROM generate_series(1, 3000) n;
  INSERT INTO orders (customer_id, total, placed_at)
    SELECT id, 10, now() - id * interval '1 hour' FROM customers, generate_series(1, 5);
  ANALYZE`

const BROKEN = `
  CREATE TABLE "Odd name" ("Kéy" int);
  CREATE TABLE parents (id bigint PRIMARY KEY);
  CREATE TABLE children (id bigint PRIMARY KEY, parent_id bigint REFERENCES parents, other_id bigint REFERENCES parents,
    code char(3), "at it" timestamp);
  CREATE INDEX ON children (other_id, id);
  CREATE TABLE almost_keyed (id bigint NOT NULL, x int);
  CREATE UNIQUE INDEX almost_key ON almost_keyed (id);
  CREATE TABLE doubled (id bigint PRIMARY KEY, a int, b int);
  CREATE INDEX twice_1 ON doubled (a, b);
  CREATE INDEX twice_2 ON doubled (a, b);
  CREATE INDEX shorter ON doubled (a);
  CREATE UNIQUE INDEX again ON doubled (id);
  CREATE INDEX never_read ON doubled (b);
  CREATE TABLE dead (id bigint PRIMARY KEY, filler text) WITH (autovacuum_enabled = false);
  CREATE TABLE wasteful (id bigint PRIMARY KEY, filler text);
  CREATE UNLOGGED TABLE scratch (id bigint PRIMARY KEY);
  CREATE TABLE few_left (id serial PRIMARY KEY);
  CREATE TABLE own_keys (id int PRIMARY KEY);
  CREATE SEQUENCE tickets AS smallint;
  CREATE SEQUENCE cycling AS smallint CYCLE;
  CREATE TABLE closed (id bigint PRIMARY KEY);
  ALTER TABLE closed ENABLE ROW LEVEL SECURITY;
  CREATE TABLE open (id bigint PRIMARY KEY);
  CREATE POLICY nobody ON open USING (false);
  CREATE FUNCTION trusting(text, int) RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1';
  CREATE PROCEDURE trusting_too() LANGUAGE sql SECURITY DEFINER AS 'SELECT 1';
  INSERT INTO parents SELECT n FROM generate_series(1, 2000) n;
  INSERT INTO children SELECT n, n, n FROM generate_series(1, 2000) n;
  INSERT INTO doubled SELECT n, n, n FROM generate_series(1, 2000) n;
  INSERT INTO dead SELECT n, 'x' FROM generate_series(1, 3000) n;
  INSERT INTO wasteful SELECT n, repeat('x', 500) FROM generate_series(1, 3000) n;
  INSERT INTO own_keys SELECT 2147480000 + n FROM generate_series(1, 500) n;
  SELECT setval('few_left_id_seq', 2000000000), setval('tickets', 32000), setval('cycling', 32000)`

/** Waits, for a minute at most, until statistics have come to where they are read. */
const until = async (holds: () => Promise<boolean>, what: string): Promise<void> => {
  const deadline = Date.now() + 60_000
  while (!(await holds())) {
    assert.ok(Date.now() < deadline, `after a minute: not ${what}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

const isTrue = async (pool: pg.Pool, condition: string) =>
  (await pool.query(`SELECT (${condition}) AS holds`)).rows[0].holds === true

for (const version of pgVersions) {
  test(`a healthy PostgreSQL ${version} has no findings`, async t => {
    const cluster = await startInstance(t, version)
    assert.deepEqual(await check(cluster), [])
    await cluster.pool("owner").query(HEALTHY)
    assert.deepEqual(await check(cluster), [])
  })

  test(`each check of the schema finds what it is for on PostgreSQL ${version}, by its quoted name`, async t => {
    const cluster = await startInstance(t, version)
    const pool = cluster.pool("owner", { max: 1 })
    await pool.query(BROKEN)
    await pool.query("DELETE FROM dead WHERE id > 100")
    await pool.query("ANALYZE own_keys")
    await pool.query("DELETE FROM wasteful WHERE id % 30 <> 0")
    await pool.query("SELECT pg_stat_force_next_flush()")
    await pool.query("VACUUM ANALYZE wasteful")
    // The index is unfinished because two rows have the same value.
    await pool.query("INSERT INTO almost_keyed VALUES (1, 7), (2, 7)")
    await assert.rejects(pool.query("CREATE UNIQUE INDEX CONCURRENTLY unfinished ON almost_keyed (x)"))
    for (let n = 0; n < 3; n += 1) await pool.query("SELECT count(*) FROM doubled")
    await pool.query("SELECT pg_stat_force_next_flush()")
    await until(() => isTrue(pool, "pg_stat_get_dead_tuples('dead'::regclass) = 2900"), "2,900 dead rows")

    const findings = await check(cluster, {
      unusedIndexBytesMin: 0,
      unusedIndexTableScansMin: 3,
      deadRowsMin: 1_000,
      bloatBytesMin: 100_000,
    })
    const found = (name: string, field: string) => of(findings, name, field)

    assert.deepEqual(found("unindexed_foreign_key", "columns"), ["parent_id"])
    assert.deepEqual(found("no_primary_key", "table"), ['public."Odd name"', "public.almost_keyed"])
    assert.deepEqual(found("no_primary_key", "candidate"), [null, "almost_key"])
    assert.deepEqual(found("duplicate_index", "index"), ["public.again", "public.twice_2"])
    assert.deepEqual(found("duplicate_index", "same_as"), ["public.doubled_pkey", "public.twice_1"])
    assert.deepEqual(found("redundant_index", "index"), ["public.shorter"])
    assert.ok(found("unused_index", "index").includes("public.never_read"))
    assert.deepEqual(found("invalid_index", "index"), ["public.unfinished"])
    assert.deepEqual(found("dead_rows", "table"), ["public.dead"])
    assert.deepEqual(found("autovacuum_disabled", "table"), ["public.dead"])
    assert.deepEqual(found("table_bloat", "table"), ["public.wasteful"])
    assert.ok(found("never_analyzed", "table").includes("public.children"))
    assert.deepEqual(found("unlogged_table", "table"), ["public.scratch"])
    assert.deepEqual(found("char_column", "columns"), ["code"])
    assert.deepEqual(found("timestamp_without_time_zone", "columns"), ['"at it"'])
    assert.deepEqual(found("sequence_near_max", "sequence"), ["public.tickets", "public.few_left_id_seq"])
    assert.deepEqual(found("sequence_near_max", "column"), [null, "id"])
    assert.deepEqual(found("integer_key_near_max", "table"), ["public.own_keys"])
    assert.deepEqual(found("rls_enabled_no_policy", "table"), ["public.closed"])
    assert.deepEqual(found("policy_exists_rls_disabled", "table"), ["public.open"])
    assert.deepEqual(found("security_definer_search_path", "function"), [
      "public.trusting(text, integer)",
      "public.trusting_too()",
    ])
    for (const { cache_key, remediation } of findings) {
      assert.match(cache_key, /^[a-z_]+_[0-9a-f]{16}$/)
      assert.ok(remediation.length > 0)
    }
    assert.equal(new Set(findings.map(({ cache_key }) => cache_key)).size, findings.length)
  })

  test(`the statements a finding proposes run, and the finding is gone on PostgreSQL ${version}`, async t => {
    const cluster = await startInstance(t, version)
    const pool = cluster.pool("owner", { max: 1 })
    await pool.query(`
      CREATE TABLE "a b" ("I d" bigint NOT NULL, "c d" char(3));
      CREATE UNIQUE INDEX "a key" ON "a b" ("I d");
      CREATE TABLE child (id bigint PRIMARY KEY, "Parent" bigint);
      CREATE INDEX one ON child ("Parent", id); CREATE INDEX "Two!" ON child ("Parent", id);
      CREATE TABLE kept (id bigint PRIMARY KEY) WITH (autovacuum_enabled = off);
      CREATE UNLOGGED TABLE scratch (id bigint PRIMARY KEY);
      CREATE FUNCTION "F"("X" int) RETURNS int LANGUAGE sql SECURITY DEFINER AS 'SELECT 1';
      CREATE TABLE hidden (id bigint PRIMARY KEY); CREATE POLICY p ON hidden USING (true)`)
    const before = await check(cluster)
    assert.equal(before.length, 7)
    for (const { remediation } of before) {
      // What follows the last semicolon is prose.
      for (const statement of remediation.split(/;(?= |$)/).slice(0, -1)) {
        if (/^ ?[A-Z]+ [A-Z]+ /.test(statement)) await pool.query(statement)
      }
    }
    assert.deepEqual(await check(cluster), [])
  })

  test(`sessions, counters and the server's own figures are watched on PostgreSQL ${version}`, async t => {
    const cluster = await startInstance(t, version)
    const [pool, admin] = [cluster.pool("owner"), cluster.pool("svc_admin")]
    const [holder, waiter, sleeper] = [await pool.connect(), await pool.connect(), await pool.connect()]
    using _ = {
      [Symbol.dispose]() {
        for (const client of [holder, waiter, sleeper]) client.release(true)
      },
    }
    await pool.query("CREATE TABLE t (id bigint PRIMARY KEY)")
    await pool.query(
      "SET work_mem = '64kB'; SELECT count(*) FROM (SELECT n FROM generate_series(1, 50000) n ORDER BY n DESC) s; RESET work_mem",
    )
    await admin.query("SELECT pg_create_physical_replication_slot('svc_test', true)")
    await pool.query("INSERT INTO t SELECT n FROM generate_series(1, 10000) n")
    await holder.query("BEGIN; LOCK TABLE t")
    const waiting = waiter.query("SELECT count(*) FROM t").catch(error => error.code)
    const sleeping = sleeper.query("SELECT pg_sleep(60)").catch(error => error.code)
    await until(
      () => isTrue(admin, "EXISTS (SELECT FROM pg_locks WHERE NOT granted AND waitstart IS NOT NULL)"),
      "waiting",
    )
    await until(
      () => isTrue(admin, "EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep')"),
      "asleep",
    )
    await admin.query("CHECKPOINT")
    await pool.query("SELECT pg_stat_force_next_flush()")

    const findings = await check(cluster, {
      idleInTransactionSeconds: 0,
      lockWaitSeconds: 0,
      longQuerySeconds: 0,
      connectionsShare: 0.01,
      transactionAge: 0,
      multixactAge: 0,
      slotBytes: 100_000,
      tempBytesPerCall: 100_000,
      cacheBlocksMin: 0,
      cacheHitShare: 1.1,
      checkpointsMin: 1,
      checkpointLogShare: 0,
    })

    const pidOf = async (client: pg.PoolClient) => Reflect.get(client, "processID")
    assert.deepEqual(of(findings, "idle_in_transaction", "pid"), [await pidOf(holder)])
    assert.deepEqual(of(findings, "lock_wait", "pid"), [await pidOf(waiter)])
    assert.deepEqual(of(findings, "lock_wait", "blocked_by"), [[await pidOf(holder)]])
    assert.deepEqual(of(findings, "long_running_query", "pid"), [await pidOf(sleeper)])
    assert.deepEqual(of(findings, "connection_saturation", "limit"), [95])
    assert.ok(of(findings, "transaction_id_age", "database").includes("app"))
    assert.ok(of(findings, "multixact_id_age", "database").includes("app"))
    assert.deepEqual(of(findings, "wal_backlog", "slot"), ["svc_test"])
    assert.equal(of(findings, "temp_file_spill", "calls").length, 1)
    assert.equal(of(findings, "low_cache_hit_ratio", "share").length, 1)
    assert.equal(of(findings, "checkpoint_pressure", "requested").length, 1)

    await holder.query("ROLLBACK")
    await waiting
    await admin.query("SELECT pg_cancel_backend($1)", [await pidOf(sleeper)])
    assert.equal(await sleeping, "57014")
    await admin.query("SELECT pg_drop_replication_slot('svc_test')")
    assert.deepEqual(of(await check(cluster), "lock_wait", "pid"), [])
  })
}

test("an index for a partitioned table's foreign key is proposed in a form that can be run", async t => {
  const cluster = await startInstance(t, 18)
  const pool = cluster.pool("owner", { max: 1 })
  await pool.query(`CREATE TABLE parents (id bigint PRIMARY KEY);
    CREATE TABLE parts (id bigint PRIMARY KEY, parent_id bigint REFERENCES parents) PARTITION BY RANGE (id);
    CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000)`)
  const [finding, ...others] = await check(cluster, { foreignKeyRowsMin: -1 })
  assert.deepEqual([finding?.name, others], ["unindexed_foreign_key", []])
  await pool.query(finding?.remediation ?? "")
  assert.deepEqual(await check(cluster, { foreignKeyRowsMin: -1 }), [])
})

test("no check shares its name with another", () => {
  assert.equal(new Set(checks.map(({ name }) => name)).size, checks.length)
})

test("what a tenant defined under the names of catalog objects is not called, and nothing is written", async t => {
  const cluster = await startInstance(t, 17)
  const pool = cluster.pool("owner", { max: 1 })
  await pool.query(`
    CREATE TABLE marks (at timestamptz);
    CREATE TABLE pg_class (oid oid); CREATE TABLE pg_stat_activity (pid int);
    CREATE FUNCTION mark() RETURNS void LANGUAGE sql AS 'INSERT INTO public.marks VALUES (now())';
    CREATE FUNCTION format(text, name, name) RETURNS text LANGUAGE sql AS 'SELECT public.mark(); SELECT 1::text';
    CREATE FUNCTION json_agg(record) RETURNS json LANGUAGE plpgsql AS 'BEGIN PERFORM public.mark(); RETURN NULL; END';
    CREATE FUNCTION equal(int2, int2) RETURNS bool LANGUAGE sql AS 'SELECT public.mark(); SELECT true';
    CREATE OPERATOR public.= (FUNCTION = equal, LEFTARG = int2, RIGHTARG = int2);
    ALTER ROLE owner SET search_path = public, pg_catalog`)
  const findings = await check(cluster, {}, { inspector: cluster.pool("owner") })
  assert.deepEqual(of(findings, "no_primary_key", "table"), [
    "public.marks",
    "public.pg_class",
    "public.pg_stat_activity",
  ])
  assert.deepEqual((await pool.query("SELECT * FROM marks")).rows, [])
})
