/** Numbers of the caller's own come back digit by digit, wherever they are kept. */
import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { scopeNames } from "@svc/contract"
import { isExactNumber, parseExact, type Svc } from "@svc/sdk"
import { platform } from "./platform.ts"
import { startReceiver } from "./receiver.ts"

/** Whole numbers above 2^53, decimals with digits that a double drops, exponents, and the sign of zero. */
const OWN = '{"id":9007199254740993,"price":1.10,"rate":0.12345678901234567890,"e":1e2,"zero":-0}'
/** The same from a `jsonb` column, which writes exponents out and has one zero. */
const OWN_IN_JSONB = '{"id":9007199254740993,"price":1.10,"rate":0.12345678901234567890,"e":100,"zero":0}'

const own = parseExact(OWN) as Record<string, unknown>

/** JSON text, with the names in the order of `OWN` whatever order a store keeps them in. */
const textOf = (value: unknown): string => {
  const fields = value as Record<string, unknown>
  return JSON.stringify(Object.fromEntries(Object.keys(own).map(name => [name, fields[name]])))
}

const open = async (t: TestContext) => {
  const p = await platform(t, { env: { SVC_OUTBOUND_ALLOW: "127.0.0.0/8" } })
  const { secret } = await p.key("acme", scopeNames)
  const { organizationId: tenant_id } = await p.tenant("acme")
  return { p, secret, svc: p.as(secret, { numbers: "exact" }), tenant_id }
}

const metadata = own
const vectorsOf = async (svc: Svc, tenant_id: string) => {
  await svc.vectors.createCollection({ tenant_id, name: "c", dimension: 2 })
  const ids = [9007199254740992n, 9007199254740993n]
  await svc.vectors.upsert({
    ...{ tenant_id, collection: "c" },
    vectors: ids.map(id => ({ id, values: [1, 0], metadata })),
  })
  return ids
}

test("key-value entries keep the digits of their numbers, alone, in a batch and in a replay", async t => {
  const { svc } = await open(t)
  await svc.kv.set({ key: "a", value: own })
  assert.equal(JSON.stringify((await svc.kv.get({ key: "a" })).value), OWN)
  const batch = {
    ops: [
      { op: "set" as const, key: "b", value: own },
      { op: "get" as const, key: "b" },
    ],
  }
  const first = await svc.kv.batch(batch, { idempotencyKey: "digits" })
  const again = await svc.kv.batch(batch, { idempotencyKey: "digits" })
  for (const { results } of [first, again])
    assert.equal(JSON.stringify((results[1] as { value: unknown }).value), OWN)
  await assert.rejects(
    svc.kv.batch(
      { ops: [{ op: "set", key: "b", value: { ...own, price: 1.1 } }, batch.ops[1]] } as typeof batch,
      { idempotencyKey: "digits" },
    ),
    { code: "idempotency_key_mismatch" },
  )
})

test("declared numbers stay numbers however they are written", async t => {
  const { p, secret } = await open(t)
  const set = (body: string) =>
    p.request("/v1/kv/set", {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body,
    })
  assert.equal((await set('{"key":"a","value":1.0,"ttl_seconds":6e1}')).status, 200)
  assert.equal((await set('{"key":"a","value":1,"ttl_seconds":60.50}')).status, 400)
  assert.equal((await set('{"key":"a","value":1e400}')).status, 400)
})

test("ids of vectors that differ by one are two vectors, and metadata keeps its digits", async t => {
  const { svc, tenant_id } = await open(t)
  const ids = await vectorsOf(svc, tenant_id)
  const found = await svc.vectors.get({ tenant_id, collection: "c", ids })
  assert.deepEqual(found.vectors.map(({ id }) => id).sort(), ids.map(String))
  for (const vector of found.vectors) assert.equal(textOf(vector.metadata), OWN_IN_JSONB)
  const filter = { must: [{ has_id: [ids[1]] }, { key: "price", match: { value: own.price } }] }
  const { matches } = await svc.vectors.search({ tenant_id, collection: "c", vector: [1, 0], filter })
  assert.deepEqual(
    matches.map(({ id }) => id),
    ["9007199254740993"],
  )
})

test("parameters and results of SQL keep their digits", async t => {
  const { svc } = await open(t)
  const { rows } = await svc.sql.execute({
    sql: `SELECT $1::int8 AS "int8", $2::numeric AS "numeric", $3::jsonb AS "jsonb", $4::json AS "json",
            $5::numeric[] AS "list", '-0'::float8 AS "float8", '{"n": 1e400}'::jsonb AS "large"`,
    params: [own.id, own.rate, own, own, [own.id, own.price]],
  })
  const row = rows[0] as Record<string, unknown>
  assert.equal(row.int8, "9007199254740993")
  assert.equal(row.numeric, "0.12345678901234567890")
  assert.equal(textOf(row.jsonb), OWN_IN_JSONB)
  assert.equal(JSON.stringify(row.json), OWN)
  assert.deepEqual(row.list, ["9007199254740993", "1.10"])
  assert.equal(JSON.stringify(row.float8), "-0")
  assert.equal(JSON.stringify(row.large), `{"n":1${"0".repeat(400)}}`)
})

test("data of events and bodies of schedules reach their endpoint with their digits", async t => {
  const { svc } = await open(t)
  const receiver = await startReceiver(t)
  const { id: topic_id } = await svc.events.createTopic({ name: "orders" })
  await svc.events.createSubscription({ topic_id, sub_type: "webhook", config: { url: receiver.url } })
  await svc.events.publish({ topic_id, event_type: "order.paid", data: own })
  const [event] = await receiver.received(1)
  assert.ok(event?.body.toString().includes(`"data":${OWN}`))
  const target = { type: "http" as const, url: receiver.url, body: own }
  const { id } = await svc.cron.create({ name: "bill", interval_seconds: 3600, target })
  await svc.cron.trigger({ id })
  const [, scheduled] = await receiver.received(2)
  assert.equal(scheduled?.body.toString(), OWN)
  assert.equal(JSON.stringify((await svc.cron.get({ id })).target.body), OWN)
})

test("data of notifications, metadata of documents and data of mails keep their digits", async t => {
  const { svc } = await open(t)
  const { id } = await svc.notifications.send({ title: "Paid", data: own })
  assert.equal(textOf((await svc.notifications.get({ id })).data), OWN_IN_JSONB)

  const source = await svc.search.upsertSource({ name: "bills", type: "inline" })
  const documents = [{ id: "1", title: "A bill", text: "paid", metadata: own }]
  await svc.search.putDocuments({ id: source.id, documents })
  const find = (filter: object) => svc.search.query({ q: "bill", filter: JSON.stringify(filter) })
  const { hits } = await find({ id: own.id })
  assert.equal(textOf(hits[0]?.metadata), OWN_IN_JSONB)
  assert.equal((await find({ id: JSON.parse("9007199254740992") })).hits.length, 0)

  const template = await svc.email.createTemplate({
    ...{ name: "bill", subject: "{{id}}", html: "<p>{{price}}</p>" },
    variables: [{ name: "price", type: "number", required: true }],
  })
  const shown = await svc.email.previewTemplate({ id: template.id, data: own })
  assert.deepEqual([shown.subject, shown.html], ["9007199254740993", "<p>1.10</p>"])
})

test("a request that waited for its approval keeps the digits of its numbers, and so does its result", async t => {
  const { p } = await open(t)
  const { secret } = await p.key("acme", scopeNames, { require_approval: true })
  const asker = p.as(secret, { numbers: "exact" })
  const response = await p.request("/v1/probe/danger", {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: `{"text":"a","value":${OWN}}`,
  })
  const { approval } = ((await response.json()) as { data: { approval: { id: string } } }).data
  await (await p.person("acme")).approvals.approve({ id: approval.id })
  const { result } = await asker.approvals.get({ id: approval.id })
  assert.equal(JSON.stringify(result?.body), `{"text":"a","value":${OWN}}`)
})

test("JavaScript gets integers above 2^53 as bigints, and exact numbers where it asks for them", async t => {
  const { p, secret, svc } = await open(t)
  await svc.kv.set({ key: "a", value: own })
  const { value } = await p.as(secret).kv.get({ key: "a" })
  assert.deepEqual(value, { ...JSON.parse(OWN), id: 9007199254740993n })
  await p.as(secret).kv.set({ key: "b", value })
  const exact = (await svc.kv.get({ key: "b" })).value as Record<string, unknown>
  assert.ok(isExactNumber(exact.id))
  assert.equal(JSON.stringify(exact.id), "9007199254740993")
})
