/** What the catalog says of a database, on every version. */
import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { isFault } from "../../kernel/fault.ts"
import { pgVersions } from "../../ports/engine/port.ts"
import { startCluster, type TestCluster } from "../../testing/cluster.ts"
import { asOwner, type Reading, reading } from "./testing/reading.ts"

const shop = `
  CREATE TYPE mood AS ENUM ('happy', 'so so');
  CREATE DOMAIN positive AS int CHECK (VALUE > 0);
  CREATE DOMAIN quantity AS positive NOT NULL;
  CREATE TYPE span AS (since date, until date);
  CREATE TYPE price_range AS RANGE (subtype = numeric);
  CREATE TABLE customers (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    email varchar(200) NOT NULL UNIQUE,
    tags text[] DEFAULT '{}',
    feeling mood,
    feelings mood[],
    amount quantity,
    balance numeric(10,2) DEFAULT 0.00,
    twice numeric GENERATED ALWAYS AS (balance * 2) STORED
  );
  COMMENT ON TABLE customers IS 'Who buys';
  COMMENT ON COLUMN customers.email IS 'Confirmed';
  CREATE TABLE orders (
    customer_id bigint NOT NULL REFERENCES customers ON DELETE CASCADE,
    number int, note text CHECK (note <> ''),
    PRIMARY KEY (customer_id, number)
  );
  CREATE TABLE lines (
    customer_id bigint, order_number int, position int,
    FOREIGN KEY (customer_id, order_number) REFERENCES orders (customer_id, number) ON UPDATE CASCADE
  );
  CREATE INDEX lines_position ON lines (position) WHERE position > 0;
  CREATE UNIQUE INDEX lines_partly ON lines (order_number) WHERE position = 1;
  CREATE VIEW simple AS SELECT id, email FROM customers;
  CREATE VIEW counted AS SELECT count(*) AS n FROM customers;
  CREATE MATERIALIZED VIEW daily AS SELECT 1 AS day;
  CREATE TABLE events (at timestamptz NOT NULL, what text) PARTITION BY RANGE (at);
  CREATE TABLE events_2025 PARTITION OF events FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
  CREATE SCHEMA other;
  CREATE TABLE other.customers (id int);
  CREATE EXTENSION citext;
  ANALYZE;
`

const named = <Row extends { name: string }>(rows: readonly Row[], name: string): Row => {
  const row = rows.find(each => each.name === name)
  assert.ok(row, `no ${name} in ${rows.map(each => each.name)}`)
  return row
}

const listing = async ({ get }: Reading): Promise<void> => {
  const { tables, views, types, truncated } = await get()
  assert.deepEqual(
    tables.map(({ schema, name, type }) => `${schema}.${name} ${type}`),
    [
      "other.customers table",
      "public.customers table",
      "public.events partitioned_table",
      "public.lines table",
      "public.orders table",
    ],
  )
  assert.equal(truncated, false)
  assert.deepEqual(
    views.map(({ name, type, is_updatable }) => [name, type, is_updatable]),
    [
      ["counted", "view", false],
      ["daily", "materialized_view", false],
      ["simple", "view", true],
    ],
  )
  assert.deepEqual(
    types.map(({ name, kind, base_type, enums, attributes }) => [
      name,
      kind,
      base_type,
      enums,
      attributes.length,
    ]),
    [
      ["mood", "enum", null, ["happy", "so so"], 0],
      ["positive", "domain", "integer", [], 0],
      ["price_multirange", "multirange", "public.price_range", [], 0],
      ["price_range", "range", "numeric", [], 0],
      ["quantity", "domain", "public.positive", [], 0],
      ["span", "composite", null, [], 2],
    ],
  )
  const customers = tables.find(({ schema, name }) => schema === "public" && name === "customers")
  assert.equal(customers?.comment, "Who buys")
  assert.equal(named(tables, "events").partition_count, 1)
  const wide = await get({ include_extensions: true, include_partitions: true, include_columns: false })
  assert.deepEqual(named(wide.tables, "events_2025").partition_of, { schema: "public", name: "events" })
  assert.equal(named(wide.tables, "events_2025").columns, undefined)
  named(wide.types, "citext")
  assert.deepEqual(
    (await get({ schema: "other" })).tables.map(({ name }) => name),
    ["customers"],
  )
}

const columns = async ({ table }: Reading): Promise<void> => {
  const { columns: found, ...customers } = await table({ name: "customers" })
  const shown = found.map(column => [
    column.name,
    column.data_type,
    column.format,
    column.full_type,
    column.is_nullable,
    column.is_unique,
    column.is_updatable,
  ])
  assert.deepEqual(shown, [
    ["id", "bigint", "int8", "bigint", false, true, true],
    ["email", "character varying", "varchar", "character varying(200)", false, true, true],
    ["tags", "ARRAY", "_text", "text[]", true, false, true],
    ["feeling", "USER-DEFINED", "mood", "public.mood", true, false, true],
    ["feelings", "ARRAY", "_mood", "public.mood[]", true, false, true],
    ["amount", "integer", "quantity", "public.quantity", false, false, true],
    ["balance", "numeric", "numeric", "numeric(10,2)", true, false, true],
    ["twice", "numeric", "numeric", "numeric", true, false, false],
  ])
  assert.equal(named(found, "id").identity_generation, "ALWAYS")
  assert.equal(named(found, "twice").generation, "STORED")
  assert.deepEqual(named(found, "feelings").enums, ["happy", "so so"])
  assert.equal(named(found, "email").comment, "Confirmed")
  assert.equal(named(found, "balance").default_value, "0.00")
  assert.deepEqual(
    customers.primary_keys.map(({ name }) => name),
    ["id"],
  )
  assert.deepEqual(
    customers.relationships.map(key => [key.source_table_name, key.target_column_name, key.on_delete]),
    [["orders", "id", "CASCADE"]],
  )
  assert.ok((customers.bytes ?? 0) > 0)
}

const details = async ({ table, relationships }: Reading): Promise<void> => {
  const lines = await table({ name: "lines" })
  assert.deepEqual(
    lines.relationships.map(key => [
      key.position,
      key.source_column_name,
      key.target_column_name,
      key.on_update,
    ]),
    [
      [1, "customer_id", "customer_id", "CASCADE"],
      [2, "order_number", "number", "CASCADE"],
    ],
  )
  assert.deepEqual(
    lines.indexes.map(({ name, is_unique }) => [name, is_unique]),
    [
      ["lines_partly", true],
      ["lines_position", false],
    ],
  )
  assert.equal(named(lines.columns, "order_number").is_unique, false, "unique only where position is 1")
  const orders = await table({ name: "orders" })
  assert.deepEqual(
    orders.primary_keys.map(({ name }) => name),
    ["customer_id", "number"],
  )
  assert.ok(
    orders.constraints.some(({ type, definition }) => type === "check" && definition?.includes("note")),
  )
  assert.match((await table({ name: "simple" })).definition ?? "", /SELECT/)
  const events = await table({ name: "events" })
  assert.equal(events.partition_key, "RANGE (at)")
  const part = await table({ name: "events_2025" })
  assert.match(part.partition_bound ?? "", /FROM/)
  assert.equal((await relationships()).relationships.length, 3)
  assert.equal((await relationships({ schema: "other" })).relationships.length, 0)
}

const search = async ({ searchColumns }: Reading): Promise<void> => {
  const paths = async (q?: string) =>
    (await searchColumns(q === undefined ? {} : { q })).columns.map(({ table, name }) => `${table}.${name}`)
  assert.deepEqual(await paths("Order_Num"), ["lines.order_number"])
  assert.deepEqual(await paths("number"), ["orders.number", "lines.order_number"])
  assert.deepEqual(await paths("number order"), ["lines.order_number"])
  assert.deepEqual(await paths("simple.mail"), ["simple.email"])
  assert.deepEqual(await paths("100%"), [])
  assert.equal((await paths()).length, 21)
  const cut = await searchColumns({ limit: 3 })
  assert.deepEqual([cut.columns.length, cut.truncated], [3, true])
}

const oddNames = async (cluster: TestCluster, { table, get }: Reading): Promise<void> => {
  await asOwner(cluster).query(`
    CREATE SCHEMA "odd.schema";
    CREATE TABLE "odd.schema"."a ""quoted"" täble.x" (" c ol" text);
    CREATE TABLE "Big" (a int);
    CREATE TABLE "dotted.name" (a int);
    CREATE SCHEMA one; CREATE SCHEMA two;
    CREATE TABLE one.twin (a int); CREATE TABLE two.twin (a int);
  `)
  const pathOf = async (name: string, schema?: string) => {
    const found = await table(schema === undefined ? { name } : { name, schema })
    return `${found.schema}|${found.name}`
  }
  const odd = 'odd.schema|a "quoted" täble.x'
  assert.equal(await pathOf('"odd.schema"."a ""quoted"" täble.x"'), odd)
  assert.equal(await pathOf('a "quoted" täble.x'), odd)
  assert.equal(await pathOf('odd.schema.a "quoted" täble.x'), odd)
  assert.equal(await pathOf('a "quoted" täble.x', "odd.schema"), odd)
  assert.equal(await pathOf("Big"), "public|Big")
  assert.equal(await pathOf('public."Big"'), "public|Big")
  assert.equal(await pathOf("dotted.name"), "public|dotted.name")
  assert.equal(await pathOf("OTHER.CUSTOMERS"), "other|customers")
  assert.equal(await pathOf("customers"), "public|customers")
  assert.equal(await pathOf("two.twin"), "two|twin")
  await assert.rejects(pathOf("twin"), error => isFault(error, "invalid_parameter"))
  for (const [name, schema] of [
    ["nothing"],
    ["pg_class"],
    ["pg_catalog.pg_class"],
    ["customers", "one"],
    ['"'],
    ["."],
  ])
    await assert.rejects(pathOf(name ?? "", schema), error => isFault(error, "table_not_found"), name)
  assert.deepEqual((await get({ schema: "svc_internal", include_extensions: true })).views, [])
}

for (const version of pgVersions) {
  test(`a schema is described whole on PostgreSQL ${version}`, async t => {
    const cluster = await startCluster(t, version)
    await asOwner(cluster).query(shop)
    const read = reading(t, cluster)
    await t.test("tables, views and types are listed, without PostgreSQL's, ours and extensions'", () =>
      listing(read),
    )
    await t.test("a column is described by type, default, key and comment", () => columns(read))
    await t.test("a table is described with its keys, indexes, constraints and parts", () => details(read))
    await t.test("columns are found by a part of their name, closest first", () => search(read))
    await t.test("every name that a table can have finds it, quoted or not", () => oddNames(cluster, read))
  })
}

test("virtual columns, temporal keys and unenforced constraints of PostgreSQL 18 are told", async (t: TestContext) => {
  const cluster = await startCluster(t, 18)
  await asOwner(cluster).query(`
    CREATE EXTENSION btree_gist;
    CREATE TABLE rooms (id int, valid daterange, price int, doubled int GENERATED ALWAYS AS (price * 2),
      PRIMARY KEY (id, valid WITHOUT OVERLAPS));
    CREATE TABLE stays (room int, valid daterange, guest text,
      FOREIGN KEY (room, PERIOD valid) REFERENCES rooms (id, PERIOD valid),
      CONSTRAINT named CHECK (guest <> '') NOT ENFORCED);
  `)
  const { table } = reading(t, cluster)
  const rooms = await table({ name: "rooms" })
  assert.equal(named(rooms.columns, "doubled").generation, "VIRTUAL")
  assert.equal(named(rooms.columns, "id").is_unique, false)
  assert.ok(rooms.constraints.some(({ type }) => type === "not_null"))
  const stays = await table({ name: "stays" })
  assert.deepEqual(
    stays.relationships.map(({ is_temporal }) => is_temporal),
    [true, true],
  )
  assert.equal(named(stays.constraints, "named").is_enforced, false)
})

test("a table that another session is rewriting hides its size and nothing else", async t => {
  const cluster = await startCluster(t, 18)
  const owner = asOwner(cluster)
  await owner.query(
    "CREATE TABLE busy (id int PRIMARY KEY DEFAULT 1 CHECK (id > 0)); CREATE VIEW over_busy AS SELECT id FROM busy",
  )
  const read = reading(t, cluster)
  const session = await owner.connect()
  try {
    await session.query("BEGIN; LOCK TABLE busy IN ACCESS EXCLUSIVE MODE")
    const { tables, views } = await read.get()
    assert.equal(named(tables, "busy").bytes, null)
    assert.equal(named(views, "over_busy").columns?.length, 1)
    assert.equal((await read.table({ name: "busy" })).columns.length, 1)
    assert.equal((await read.pii()).scanned_tables, 2)
  } finally {
    session.release(true)
  }
  assert.ok(named((await read.get()).tables, "busy").bytes !== null)
})
