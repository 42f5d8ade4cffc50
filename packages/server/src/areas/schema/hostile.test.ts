/** A tenant owns all that is in the database. Inspecting it must run nothing of theirs, and tell no value. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { pgVersions } from "../../ports/engine/port.ts"
import { startCluster } from "../../testing/cluster.ts"
import { asOwner, reading } from "./testing/reading.ts"

/** Every way to be called that a tenant has without being a superuser; whatever is called fails. */
const traps = `
  CREATE TABLE people (id int PRIMARY KEY, email text, note text DEFAULT 'x' CHECK (note <> ''));
  INSERT INTO people SELECT g, 'ada' || g || '@example.com' FROM generate_series(1, 20) AS g;
  CREATE FUNCTION trap() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'called'; END $$;
  CREATE FUNCTION trap(name, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'called'; END $$;
  CREATE FUNCTION trap("char", "char") RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'called'; END $$;
  CREATE FUNCTION trap(text, text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'called'; END $$;
  CREATE FUNCTION trap(oid, oid) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'called'; END $$;
  CREATE FUNCTION trap(int, int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'called'; END $$;
  CREATE OPERATOR = (LEFTARG = name, RIGHTARG = text, FUNCTION = trap);
  CREATE OPERATOR = (LEFTARG = "char", RIGHTARG = "char", FUNCTION = trap);
  CREATE OPERATOR = (LEFTARG = oid, RIGHTARG = oid, FUNCTION = trap);
  CREATE OPERATOR <= (LEFTARG = int, RIGHTARG = int, FUNCTION = trap);
  CREATE OPERATOR || (LEFTARG = text, RIGHTARG = text, FUNCTION = trap);
  CREATE FUNCTION format_type(oid, int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'called'; END $$;
  CREATE FUNCTION "left"(text, int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'called'; END $$;
  CREATE FUNCTION lower(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'called'; END $$;
  CREATE FUNCTION json_agg(record) RETURNS json LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'called'; END $$;
  CREATE VIEW pg_class AS SELECT trap() AS oid;
  CREATE TYPE mood AS ENUM ('female', 'male');
  CREATE FUNCTION trap(mood) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'called'; END $$;
  CREATE CAST (mood AS text) WITH FUNCTION trap(mood) AS IMPLICIT;
  CREATE TABLE moods (sex mood, note text);
  INSERT INTO moods VALUES ('female', 'x');
  CREATE TABLE guarded (email text);
  INSERT INTO guarded VALUES ('ada@example.com');
  ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
  CREATE POLICY guard ON guarded USING (trap());
  CREATE VIEW viewed AS SELECT trap() AS email;
  ALTER DATABASE app SET search_path = public, pg_catalog;
  ALTER DATABASE app SET default_transaction_read_only = off;
  ALTER DATABASE app SET row_security = on;
  ALTER DATABASE app SET datestyle = 'SQL, DMY';
  ALTER DATABASE app SET quote_all_identifiers = on;
  CREATE ROLE mask; GRANT mask TO svc_reader; ALTER DATABASE app SET role = 'mask';
`

for (const version of pgVersions) {
  test(`no function, operator, cast, policy or view of a tenant's is called on PostgreSQL ${version}`, async t => {
    const cluster = await startCluster(t, version)
    await asOwner(cluster).query(traps)
    const session = await cluster.pool("svc_reader").connect()
    try {
      for (const trapped of [
        "SELECT 'a'::name = 'a'::text",
        "SELECT lower('a')",
        "SELECT 'female'::mood::text",
      ])
        await assert.rejects(session.query(trapped), /called/, `the trap is set: ${trapped}`)
    } finally {
      session.release()
    }

    const read = reading(t, cluster)
    assert.deepEqual(
      (await read.get()).tables.map(({ name }) => name),
      ["guarded", "moods", "people"],
    )
    assert.equal((await read.searchColumns({ q: "email" })).columns.length, 3)
    assert.equal((await read.table({ name: "people" })).columns.length, 3)
    assert.equal((await read.table({ name: "guarded" })).policies.length, 1)
    assert.equal((await read.relationships()).relationships.length, 0)
    const report = await read.pii()
    assert.equal(report.sampled_tables, 2, "people and moods; nothing is read through a policy")
    assert.equal(report.columns.find(({ table }) => table === "people")?.sampled_rows, 20)
    assert.equal(report.columns.find(({ table }) => table === "moods")?.entity_type, "GENDER")
    assert.equal(report.columns.find(({ table }) => table === "guarded")?.sampled_rows, 0)
  })
}

test("names that look like SQL are names", async t => {
  const cluster = await startCluster(t, 18)
  const owner = asOwner(cluster)
  const odd = `a"; DROP TABLE kept; -- 'x' \\ $1 %s`
  const name = `"${odd.replaceAll('"', '""')}"`
  await owner.query(
    `CREATE TABLE kept (); CREATE SCHEMA ${name}; CREATE TABLE ${name}.${name} (${name} text)`,
  )
  await owner.query(
    `INSERT INTO ${name}.${name} SELECT 'ada' || g || '@example.com' FROM generate_series(1, 9) AS g`,
  )
  const read = reading(t, cluster)
  const { columns } = await read.pii()
  assert.deepEqual(
    columns.map(({ schema, table, column, entity_type }) => [schema, table, column, entity_type]),
    [[odd, odd, odd, "EMAIL_ADDRESS"]],
  )
  assert.equal((await read.table({ name: odd })).columns[0]?.name, odd)
  assert.equal((await read.searchColumns({ q: odd.replace(" %s", "") })).columns.length, 1)
  assert.equal((await read.table({ name: "kept" })).name, "kept")
})

test("no value is told: not by a finding, a key of JSON, an error of PostgreSQL's, nor its log of statements", async t => {
  const cluster = await startCluster(t, 18)
  await asOwner(cluster).query(`
    CREATE TABLE letters (email text, notes text, extra jsonb, tags text[]);
    INSERT INTO letters SELECT 'zanzibar' || g || '@example.com',
      'A long text that names zanzibar' || g || '@example.com in its midst',
      jsonb_build_object('zanzibar' || g || '@example.com', 1, 'mail', 'zanzibar' || g || '@example.com'),
      ARRAY['zanzibar' || g || '@example.com'] FROM generate_series(1, 50) AS g;
    CREATE TABLE broken (secret text, parsed int GENERATED ALWAYS AS (secret::int) VIRTUAL);
  `)
  // Written as a row that fails only when it is read.
  await asOwner(cluster).query("INSERT INTO broken (secret) VALUES ('zanzibar')")
  const read = reading(t, cluster)
  const report = await read.pii({ min_confidence: 0 })
  assert.deepEqual([report.scanned_tables, report.sampled_tables], [2, 1], "one table cannot be read")
  const found = report.columns.filter(({ entity_type }) => entity_type === "EMAIL_ADDRESS")
  assert.deepEqual(
    found.map(({ column }) => column),
    ["email", "notes", "extra", "tags"],
  )
  assert.ok(!JSON.stringify([report, await read.get()]).includes("zanzibar"))
  const logged = await cluster.pool("svc_admin").query("SELECT query FROM svc_internal.pg_stat_statements")
  const ours = logged.rows.filter(({ query }) => query.includes("TABLESAMPLE"))
  assert.ok(ours.length > 0)
  assert.ok(!JSON.stringify(ours).includes("zanzibar"))
})

test("without a sample no row is read, and without time tables are judged by their names and that is told", async t => {
  const cluster = await startCluster(t, 16)
  const owner = asOwner(cluster)
  await owner.query(
    "CREATE TABLE a (email text, f1 text); INSERT INTO a VALUES ('a@example.com', 'b@example.com')",
  )
  const read = reading(t, cluster)
  const summary = async (input = {}) => {
    const { columns, sampled_tables, truncated } = await read.pii(input)
    return [columns.map(({ column }) => column), sampled_tables, truncated]
  }
  assert.deepEqual(await summary(), [["email", "f1"], 1, false])
  assert.deepEqual(await summary({ sample: false }), [["email"], 0, false])
  read.clockStepMs = 60_000
  assert.deepEqual(await summary(), [["email"], 0, true])
})

test("a partitioned table is sampled over its partitions, and a large one by a few of its pages", async t => {
  const cluster = await startCluster(t, 18)
  await asOwner(cluster).query(`
    CREATE TABLE parts (id int, f1 text) PARTITION BY HASH (id);
    CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
    CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
    INSERT INTO parts SELECT g, 'ada' || g || '@example.com' FROM generate_series(1, 60000) AS g;
    CREATE TABLE blobs (email text);
    INSERT INTO blobs SELECT repeat(md5(g::text), 2000) FROM generate_series(1, 40) AS g;
  `)
  const { columns, sampled_tables } = await reading(t, cluster).pii({ min_confidence: 0.3 })
  assert.equal(sampled_tables, 2)
  const [blob, part] = columns
  assert.deepEqual([part?.table, part?.column, part?.entity_type], ["parts", "f1", "EMAIL_ADDRESS"])
  assert.ok((part?.sampled_rows ?? 0) > 10 && (part?.sampled_rows ?? 0) <= 120)
  assert.equal(blob?.table, "blobs")
})
