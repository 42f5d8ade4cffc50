import assert from "node:assert/strict"
import { test } from "node:test"
import { createPlatformEvents } from "../../core/platform-events/platform-events.ts"
import { eventually } from "../../testing/eventually.ts"
import { everyScope, uniqueName } from "../../testing/platform.ts"
import { startReceiver } from "../../testing/receiver.ts"
import { eventOf, makeKey, passing, typesOf, worldOf } from "./testing/world.ts"

test("a webhook is told of the types it chose, signed, in the platform's envelope", async t => {
  const { p, receiver, svc, person, projectId, register, tenant_id } = await worldOf(t)
  const { id, secret } = await register(["key.*", "database.deleted"])
  const key = await makeKey(person, projectId)
  // Deliveries of one moment may overtake each other.
  await receiver.received(1)
  await person.keys.revoke({ id: key.id })
  const requests = await receiver.received(2)

  const [created, revoked] = await Promise.all(requests.map(request => eventOf(request, secret)))
  assert.ok(created && revoked)
  assert.equal(created.type, "key.created")
  assert.match(created.id, /^evt_[0-9a-f-]{36}$/)
  assert.equal(created.timestamp, new Date(p.clock.now()).toISOString())
  assert.equal(created.source, "platform")
  assert.equal(created.tenant_id, tenant_id)
  assert.deepEqual(created.data, {
    ...{ key_id: key.id, name: key.name, prefix: key.prefix, expires_at: key.expires_at },
  })
  assert.equal(revoked.type, "key.revoked")
  const { headers, method } = requests[0] ?? assert.fail()
  assert.equal(method, "POST")
  assert.equal(headers["content-type"], "application/json")
  assert.equal(headers["user-agent"], "svc-webhooks/1")
  assert.equal(headers["webhook-id"], created.id)
  assert.equal(headers["x-svc-attempt"], "1")

  await eventually("both are listed as delivered", async () => {
    const { data } = await svc.webhooks.deliveries({ tenant_id, id })
    return data.length === 2 && data.every(({ status }) => status === "delivered")
  })
  const { data } = await svc.webhooks.deliveries({ tenant_id, id, event_type: "key.revoked" })
  assert.equal(data.length, 1)
  assert.equal(data[0]?.id, requests[1]?.headers["x-svc-delivery"])
  assert.equal(data[0]?.event_id, revoked.id)
  assert.equal(data[0]?.status_code, 200)
  assert.equal(data[0]?.attempts[0]?.trigger, "scheduled")
  const record = await svc.webhooks.get({ tenant_id, id })
  assert.ok(record.last_success_at)
  assert.equal(record.consecutive_failures, 0)
})

test("nobody is told of types that were not chosen, of other projects, or of other organizations", async t => {
  const { p, receiver, svc, person, projectId, tenant_id, register } = await worldOf(t)
  const [elsewhere, whole] = [await startReceiver(t), await startReceiver(t)]
  const globex = await p.tenant("globex")
  const theirs = p.as((await p.key("globex", everyScope)).secret)
  const all = { event_types: ["*"], url: elsewhere.url }
  await theirs.webhooks.register({ tenant_id: globex.organizationId, ...all })
  const other = await person.projects.create({ name: "other" })
  const otherProject = p.as((await p.key("acme", everyScope, { project_id: other.id })).secret)
  await otherProject.webhooks.register({ tenant_id, ...all })
  const organization = p.as((await p.key("acme", everyScope, { project_id: null })).secret)
  await organization.webhooks.register({ tenant_id, event_types: ["*"], url: whole.url })
  await register(["key.revoked"])

  const key = await makeKey(person, projectId)
  await svc.kv.set({ key: "a", value: 1 })
  await whole.received(1)
  await person.keys.revoke({ id: key.id })
  await whole.received(2)
  await receiver.received(1)
  // Of the organization as a whole, the other project hears too; so it would have heard of the rest by now.
  await makeKey(person)
  await elsewhere.received(1)
  await whole.received(3)
  assert.deepEqual(typesOf(receiver), ["key.revoked"])
  assert.deepEqual(typesOf(elsewhere), ["key.created"])
  assert.deepEqual(typesOf(whole), ["key.created", "key.revoked", "key.created"])
})

test("every way by which a key ends is told", async t => {
  const { p, receiver, person, register, tenant_id } = await worldOf(t)
  await register(["key.*"])
  const whole = p.as((await p.key("acme", everyScope, { project_id: null })).secret)
  await whole.webhooks.register({ tenant_id, event_types: ["key.*"], url: receiver.url })
  const types = async (count: number) => (await receiver.received(count)) && typesOf(receiver)
  const key = await makeKey(person)
  assert.deepEqual(await types(2), ["key.created", "key.created"])
  await person.keys.rotate({ id: key.id })
  await person.keys.revoke({ id: key.id, cascade: true })
  assert.deepEqual((await types(8)).slice(2).sort(), [
    ...["key.revoked", "key.revoked", "key.revoked", "key.revoked", "key.rotated", "key.rotated"],
  ])
  const project = await person.projects.create({ name: "brief" })
  await makeKey(person, project.id)
  await receiver.received(9)
  await person.projects.delete({ id: project.id })
  // The publishable key of the project goes too.
  assert.deepEqual((await types(11)).slice(9), ["key.revoked", "key.revoked"])
})

test("a key's end is announced before it comes", async t => {
  const { p, receiver, person, register } = await worldOf(t)
  const { secret } = await register(["key.expiring"])
  const input = { name: uniqueName(), type: "secret" as const, scopes: ["kv:read"], expires_in_days: 8 }
  const key = await person.keys.create(input)
  await p.clock.advance(36 * 3_600_000)
  await passing(p, "it is told", () => receiver.requests.length === 1)
  const event = await eventOf(receiver.requests[0] ?? assert.fail(), secret)
  assert.equal(event.type, "key.expiring")
  assert.deepEqual([event.data.key_id, event.data.expires_at], [key.id, key.expires_at])
})

test("databases tell when they take SQL, are deleted and are back", { timeout: 120_000 }, async t => {
  const { receiver, svc, register } = await worldOf(t)
  const { secret } = await register(["database.*"])
  const { id } = await svc.databases.create({ name: "told", pg_version: 17 })
  await receiver.received(1)
  await svc.databases.delete({ id })
  await receiver.received(2)
  await svc.databases.restore({ id })
  const requests = await receiver.received(3)
  const told = await Promise.all(requests.map(request => eventOf(request, secret)))
  assert.deepEqual(
    told.map(({ type }) => type),
    ["database.created", "database.deleted", "database.restored"],
  )
  for (const { data } of told) assert.deepEqual(data, { database_id: id, name: "told", pg_version: 17 })
})

test("objects tell when they are stored, by whichever way, and when they are deleted", async t => {
  const { receiver, svc, register } = await worldOf(t)
  const { secret } = await register(["storage.object.*"])
  const bucket = "told"
  await svc.storage.createBucket({ name: bucket })
  const { etag } = await svc.storage.putObject({ bucket, key: "a" }, { body: "content" })
  await receiver.received(1)
  await svc.storage.copyObject({ source_bucket: bucket, source_key: "a", bucket, key: "b" })
  await receiver.received(2)
  const { upload_id } = await svc.storage.createMultipart({ bucket, key: "c" })
  const part = await svc.storage.putPart({ upload_id, part_number: 1 }, { body: "content" })
  const parts = [{ part_number: 1, etag: part.etag }]
  const whole = await svc.storage.completeMultipart({ upload_id, parts })
  await receiver.received(3)
  // Answered as before, and nothing happened.
  await svc.storage.completeMultipart({ upload_id, parts })
  await assert.rejects(
    svc.storage.putObject({ bucket, key: "a" }, { body: "new", headers: { "if-match": '"another"' } }),
    { status: 412 },
  )
  await svc.storage.deleteObjects({ bucket, keys: ["a", "b", "never"] })

  const requests = await receiver.received(5)
  const told = await Promise.all(requests.map(request => eventOf(request, secret)))
  const stored = { bucket, size: 7, etag }
  assert.deepEqual(
    told.slice(0, 3).map(({ type, data }) => [type, data]),
    [
      ["storage.object.created", { ...stored, key: "a" }],
      ["storage.object.created", { ...stored, key: "b" }],
      ["storage.object.created", { ...stored, key: "c", etag: whole.etag }],
    ],
  )
  assert.deepEqual(
    told
      .slice(3)
      .map(({ type, data }) => [type, data.key])
      .sort(),
    [
      ["storage.object.deleted", "a"],
      ["storage.object.deleted", "b"],
    ],
  )
})

test("an effect that does not happen tells nothing", async t => {
  const { p, receiver, person, register } = await worldOf(t)
  await register(["key.*"])
  const { db } = p.database
  // As a fault after the key was made: the entry of the audit log cannot be written.
  await db.schema.alterTable("core.audit_events").renameTo("away").execute()
  await assert.rejects(makeKey(person), { status: 500 })
  await db.schema.alterTable("core.away").renameTo("audit_events").execute()
  await makeKey(person)
  await receiver.received(1)
  const { count } = await db
    .selectFrom("deliveries.messages")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow()
  assert.equal(count, 1)
})

test("where nobody listens an effect writes nothing more, and asks nothing", async () => {
  const events = createPlatformEvents(Date.now)
  const nobody = new Proxy({}, { get: () => assert.fail("the database was asked") }) as never
  const key = { key_id: "k", name: "n", prefix: "p", expires_at: null }
  const event = { organizationId: "o", projectId: null, type: "key.created" as const, data: key }
  await events.emit(nobody, event)
  events.listen({ wants: () => false, receive: () => assert.fail("it was handed on") })
  await events.emit(nobody, event)
  assert.equal(events.isWanted("o", "key.created"), false)
})
