import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "kysely"
import type { AuditEntry } from "../../kernel/needs.ts"
import { PASSWORD, platform, type TestPlatform, uniqueName } from "../../testing/platform.ts"
import { refused, stranger } from "../accounts/testing/people.ts"
import { createAudit } from "./audit.ts"
import { appendEntry, verifyChain } from "./chain.ts"

const TENANT = "00000000-0000-7000-8000-0000000000a1"
const OTHER = "00000000-0000-7000-8000-0000000000a2"

const entry = (more: Partial<AuditEntry> = {}): AuditEntry => ({
  tenantId: TENANT,
  action: "thing.done",
  occurredAt: new Date("2026-03-01T12:00:00.123Z"),
  outcome: "success",
  actor: { type: "user", id: "u", name: "Ada" },
  targets: [{ type: "thing", id: "t", name: "ünï \u2028 \ud800 \0" }],
  context: { ip: "127.0.0.1", request_id: "r" },
  metadata: { z: 1, a: [-0, 1e21, 0.1, null, { nested: undefined }] },
  ...more,
})

const eventsOf = ({ database: { db } }: TestPlatform, tenantId: string) =>
  db
    .selectFrom("core.audit_events")
    .selectAll()
    .where("tenant_id", "=", tenantId)
    .orderBy("sequence")
    .execute()

const append = ({ database }: TestPlatform, more?: Partial<AuditEntry>) =>
  database.transaction(tx => appendEntry(tx, entry(more)))

/** A chain of ten entries, and a way to change it as the owner of the table could. */
const tampered = async (p: TestPlatform, ...changes: ReturnType<typeof sql>[]) => {
  for (let count = 0; count < 10; count++) await append(p, { metadata: { count } })
  assert.deepEqual(await verifyChain(p.database.db, TENANT), { valid: true, checked: 10, firstInvalid: null })
  await p.database.transaction(async tx => {
    await sql`ALTER TABLE core.audit_events DISABLE TRIGGER ALL`.execute(tx)
    for (const change of changes) await change.execute(tx)
    await sql`ALTER TABLE core.audit_events ENABLE TRIGGER ALL`.execute(tx)
  })
  return (await verifyChain(p.database.db, TENANT)).firstInvalid
}

test("a chain holds from its first entry to its head, whatever its entries say", async t => {
  const p = await platform(t)
  const { db } = p.database
  assert.deepEqual(await verifyChain(db, TENANT), { valid: true, checked: 0, firstInvalid: null })
  for (const action of ["a", "b", "c"]) await append(p, { action })
  await append(p, { tenantId: OTHER })

  assert.deepEqual(await verifyChain(db, TENANT), { valid: true, checked: 3, firstInvalid: null })
  assert.deepEqual(await verifyChain(db, OTHER), { valid: true, checked: 1, firstInvalid: null })
})

test("an entry whose words were changed is found by its number", async t => {
  const columns = {
    action: sql`action = 'thing.undone'`,
    time: sql`occurred_at = occurred_at + interval '1 ms'`,
    outcome: sql`outcome = 'failure'`,
    actor: sql`actor = '{"type":"user","id":"u","name":"Eve"}'`,
    targets: sql`targets = '[]'`,
    context: sql`context = '{}'`,
    metadata: sql`metadata = '{}'`,
    id: sql`id = gen_random_uuid()`,
    "hash before": sql`prev_hash = '\\x00'`,
    hash: sql`hash = '\\x00'`,
  }
  for (const [name, change] of Object.entries(columns)) {
    await t.test(name, async t => {
      const p = await platform(t)
      const update = sql`UPDATE core.audit_events SET ${change} WHERE sequence = 4`
      assert.equal(await tampered(p, update), 4)
    })
  }
})

test("an entry that was deleted, moved or inserted is found by its number", async t => {
  const renumber = (from: number, to: number) =>
    sql`UPDATE core.audit_events SET sequence = ${to} WHERE sequence = ${from}`
  const cases = {
    deleted: [6, sql`DELETE FROM core.audit_events WHERE sequence = 6`],
    "first deleted": [1, sql`DELETE FROM core.audit_events WHERE sequence = 1`],
    "last cut off": [10, sql`DELETE FROM core.audit_events WHERE sequence = 10`],
    "end cut off": [6, sql`DELETE FROM core.audit_events WHERE sequence > 5`],
    "all gone": [1, sql`DELETE FROM core.audit_events`],
    exchanged: [3, renumber(3, 99), renumber(7, 3), renumber(99, 7)],
    added: [
      11,
      sql`
        INSERT INTO core.audit_events SELECT tenant_id, 11, id, action, occurred_at, outcome, actor,
          targets, context, metadata, hash, hash FROM core.audit_events WHERE sequence = 10`,
    ],
  } as const
  for (const [name, [expected, ...changes]] of Object.entries(cases)) {
    await t.test(name, async t => assert.equal(await tampered(await platform(t), ...changes), expected))
  }
})

test("the database refuses to change, delete or empty the trail", async t => {
  const p = await platform(t)
  await append(p)
  for (const statement of [
    sql`UPDATE core.audit_events SET action = 'x'`,
    sql`DELETE FROM core.audit_events`,
    sql`TRUNCATE core.audit_events`,
  ]) {
    await assert.rejects(statement.execute(p.database.db), /audit events are never changed or deleted/)
  }
  assert.ok((await verifyChain(p.database.db, TENANT)).valid)
})

test("a chain that grows while it is verified is not called broken", async t => {
  const p = await platform(t)
  const growing = Array.from({ length: 60 }, () => append(p))
  const verdicts = await Promise.all(Array.from({ length: 20 }, () => verifyChain(p.database.db, TENANT)))
  await Promise.all(growing)
  for (const verdict of verdicts) assert.ok(verdict.valid, JSON.stringify(verdict))
})

test("fifty changes of one tenant at once make one chain without a gap", async t => {
  const p = await platform(t)
  const { organizationId } = await p.tenant("acme")
  const person = await p.person("acme")
  const before = (await eventsOf(p, organizationId)).length

  await Promise.all(Array.from({ length: 50 }, () => person.projects.create({ name: uniqueName() })))

  const events = await eventsOf(p, organizationId)
  assert.equal(events.length, before + 50)
  assert.deepEqual(
    events.map(({ sequence }) => sequence),
    events.map((_, index) => index + 1),
  )
  assert.ok((await verifyChain(p.database.db, organizationId)).valid)
})

test("entries written outside a transaction at once make one chain too", async t => {
  const p = await platform(t)
  const { organizationId } = await p.tenant("acme")
  const { secret } = await p.key("acme", ["kv:write"])
  const outside = (fail: boolean) =>
    p.request("/v1/probe/outside", {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body: JSON.stringify({ text: "x", fail }),
    })

  const statuses = await Promise.all(
    Array.from({ length: 30 }, async (_, index) => (await outside(index % 3 === 0)).status),
  )

  assert.deepEqual(new Set(statuses), new Set([200, 409]))
  const events = await eventsOf(p, organizationId)
  const count = (outcome: string) => events.filter(event => event.outcome === outcome).length
  assert.deepEqual([count("intent"), count("success"), count("failure")], [30, 20, 10])
  assert.deepEqual(
    events.filter(({ outcome }) => outcome === "failure").map(({ metadata }) => metadata),
    Array(10).fill({ code: "conflict" }),
  )
  assert.ok((await verifyChain(p.database.db, organizationId)).valid)
})

test("a hundred writes of the data plane leave entries whose counts add up to a hundred", async t => {
  const p = await platform(t)
  const { organizationId } = await p.tenant("acme")
  const { secret, id } = await p.key("acme", ["kv:write"])
  const svc = p.as(secret)
  const write = (count: number) =>
    Promise.all(Array.from({ length: count }, (_, index) => svc.kv.set({ key: `${index}`, value: index })))

  await write(60)
  await p.clock.advance(1000)
  await write(40)
  await p.clock.advance(1000)

  const events = (await eventsOf(p, organizationId)).filter(({ action }) => action === "kv.set")
  const counts = events.map(({ metadata }) => (metadata as { count: number }).count)
  assert.deepEqual(counts, [60, 40])
  for (const { actor } of events) assert.equal((actor as { id: string }).id, id)
  assert.ok((await verifyChain(p.database.db, organizationId)).valid)
})

test("refusals by 403 are counted by caller and code", async t => {
  const p = await platform(t)
  const { organizationId } = await p.tenant("acme")
  const { secret, id } = await p.key("acme", ["kv:read"])
  const svc = p.as(secret)

  for (let count = 0; count < 5; count++) await refused(svc.kv.set({ key: "a", value: 1 }), "missing_scope")
  for (let count = 0; count < 2; count++)
    await refused(svc.kv.get({ key: "a" }, { project: TENANT }), "project_not_in_organization")
  await p.clock.advance(1000)

  const events = (await eventsOf(p, organizationId)).filter(({ action }) => action === "access_denied")
  const told = events.map(({ outcome, actor, metadata }) => ({
    outcome,
    actor: (actor as { id: string }).id,
    code: (metadata as { code: string }).code,
    count: (metadata as { count: number }).count,
  }))
  assert.deepEqual(
    told.sort((a, b) => b.count - a.count),
    [
      { outcome: "failure", actor: id, code: "missing_scope", count: 5 },
      { outcome: "failure", actor: id, code: "project_not_in_organization", count: 2 },
    ],
  )
})

test("counts whose tenant cannot be written to stay until they can, and hold up no other tenant", async t => {
  const p = await platform(t)
  const { db } = p.database
  const audit = createAudit(p.database)
  await sql
    .raw(`ALTER TABLE core.audit_events ADD CONSTRAINT broken CHECK (tenant_id <> '${TENANT}')`)
    .execute(db)
  for (const tenantId of [TENANT, OTHER, TENANT]) audit.count(entry({ tenantId }))

  await assert.rejects(audit.flush())
  audit.count(entry())
  assert.deepEqual([(await eventsOf(p, TENANT)).length, (await eventsOf(p, OTHER)).length], [0, 1])

  await sql`ALTER TABLE core.audit_events DROP CONSTRAINT broken`.execute(db)
  await audit.flush()
  await audit.flush()
  const [event, ...more] = await eventsOf(p, TENANT)
  assert.deepEqual([(event?.metadata as { count: number } | undefined)?.count, more], [3, []])
  assert.equal((await eventsOf(p, OTHER)).length, 1)
})

/** Makes entries of this outcome impossible to write. */
const breakAudit = ({ database: { db } }: TestPlatform, outcome: string) =>
  sql
    .raw(`ALTER TABLE core.audit_events ADD CONSTRAINT broken CHECK (outcome <> '${outcome}') NOT VALID`)
    .execute(db)

test("a change that cannot be audited does not happen", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { secret } = await p.key("acme", ["kv:write"])
  const name = uniqueName()
  await breakAudit(p, "success")

  await refused(person.projects.create({ name }), "internal_error")
  assert.ok(!(await person.projects.list()).data.some(project => project.name === name))

  // An effect outside the database has its intent on record first, or is not tried.
  await sql`ALTER TABLE core.audit_events DROP CONSTRAINT broken`.execute(p.database.db)
  await breakAudit(p, "intent")
  const response = await p.request("/v1/probe/outside", {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: '{"text":"x"}',
  })
  assert.equal(response.status, 500)
  assert.deepEqual(p.effects, [])
})

test("an effect outside the database whose result cannot be recorded is not called a failure", async t => {
  const p = await platform(t)
  const { organizationId } = await p.tenant("acme")
  const { secret } = await p.key("acme", ["kv:write"])
  await breakAudit(p, "success")

  const response = await p.request("/v1/probe/outside", {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: '{"text":"x"}',
  })

  assert.equal(response.status, 200)
  assert.deepEqual(p.effects, ["x"])
  assert.deepEqual(
    (await eventsOf(p, organizationId)).map(({ outcome }) => outcome),
    ["intent"],
  )
})

test("no entry holds a credential", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const session = await p.session("acme")
  const { email } = await person.account.get()
  const { id, secret } = await person.keys.create({ name: "ci", type: "secret", scopes: ["kv:write"] })
  const rotated = await person.keys.rotate({ id })
  await person.account.reauthenticate({ password: PASSWORD })
  await refused(stranger(p).account.login({ email, password: "a wrong password" }), "invalid_credentials")
  const invitation = await person.organizations.invite({
    org_id: (await p.tenant("acme")).organizationId,
    email: "new@example.com",
    role: "member",
  })
  await p.as(secret ?? "").kv.set({ key: "a", value: 1 })
  await p.clock.advance(1000)

  const events = await p.database.db.selectFrom("core.audit_events").selectAll().execute()
  const text = JSON.stringify(events)

  assert.ok(events.length > 5)
  const token = session.cookie?.split("=")[1] ?? ""
  for (const credential of [secret, rotated.secret, PASSWORD, "a wrong password", token, invitation.token]) {
    assert.ok(credential)
    assert.ok(!text.includes(credential), credential.slice(0, 9))
  }
})
