import assert from "node:assert/strict"
import { test } from "node:test"
import { dataPlaneScopes, type Role } from "@svc/contract"
import type { Svc } from "@svc/sdk"
import { sql } from "kysely"
import { pino } from "pino"
import { platform, type TestPlatform, uniqueName } from "../../testing/platform.ts"
import { refused } from "../accounts/testing/people.ts"
import { holdRow, use } from "./testing/use.ts"

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const secretKey = (more: object = {}) => ({
  name: uniqueName(),
  type: "secret" as const,
  scopes: ["kv:read"],
  ...more,
})

const created = async (person: Svc, more: object = {}) => {
  const { secret = "", ...key } = await person.keys.create(secretKey(more))
  return { ...key, secret }
}

/** A member who sees these projects only. */
const restrictedMember = async (p: TestPlatform, tenant: string, projectIds: string[]): Promise<Svc> => {
  const person = await p.person(tenant, "member")
  const { id } = await person.account.get()
  await p.database.db
    .updateTable("core.members")
    .set({ project_ids: projectIds })
    .where("user_id", "=", id)
    .execute()
  return person
}

/** All that the control database holds, as text. */
const everythingStored = async ({ database: { db } }: TestPlatform): Promise<string> => {
  const { rows } = await sql<{ schema: string; name: string }>`
    SELECT table_schema AS schema, table_name AS name FROM information_schema.tables
    WHERE table_schema NOT IN ('pg_catalog', 'information_schema')`.execute(db)
  const dumps = rows.map(({ schema, name }) =>
    sql<{
      text: string | null
    }>`SELECT string_agg(t::text, '\n') AS text FROM ${sql.table(`${schema}.${name}`)} AS t`
      .execute(db)
      .then(dump => dump.rows[0]?.text ?? ""),
  )
  return (await Promise.all(dumps)).join("\n")
}

test("a secret is shown to its request and a replay of that alone: no other answer, log line or stored row holds it", async t => {
  const lines: string[] = []
  const p = await platform(t, { log: pino({ level: "trace" }, { write: line => lines.push(line) }) })
  const person = await p.person("acme")
  const idempotencyKey = uniqueName()
  const input = secretKey()

  const { data: first } = await person.request("keys.create", input, { idempotencyKey })
  const { data: replayed } = await person.request("keys.create", input, { idempotencyKey })
  assert.equal(replayed.secret, first.secret)
  const rotated = await person.keys.rotate({ id: first.id })
  const secrets = [first.secret ?? "", rotated.secret ?? ""]
  for (const secret of secrets) assert.equal(await use(p, secret), "ok")

  const told = JSON.stringify([
    await person.keys.get({ id: first.id }),
    await person.keys.list(),
    await person.keys.update({ id: rotated.id, name: "renamed" }),
    await person.keys.revoke({ id: rotated.id }),
    lines,
    await everythingStored(p),
  ])
  for (const secret of secrets) {
    assert.ok(secret.length > 49)
    assert.ok(!told.includes(secret), "a secret was found again")
    assert.ok(told.includes(secret.slice(0, "svc_sk_".length + 8)), "its visible prefix is everywhere")
  }
})

test("a key tells who made it, for what, and until when: 90 days unless told", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { projectId, organizationId } = await p.tenant("acme")
  const { id, email } = await person.account.get()
  const now = new Date(p.clock.now())

  const { secret: _, ...key } = await created(person, { project_id: projectId.toUpperCase(), name: "ci" })

  assert.deepEqual(key, {
    id: key.id,
    name: "ci",
    type: "secret",
    prefix: key.prefix,
    scopes: ["kv:read"],
    organization_id: organizationId,
    project_id: projectId,
    organization_reach: false,
    read_only: false,
    ip_allowlist: [],
    require_approval: false,
    status: "active",
    created_by: { id, email },
    created_at: now.toISOString(),
    expires_at: new Date(now.getTime() + 90 * DAY_MS).toISOString(),
    last_used_at: null,
    rotated_from_id: null,
    grace_expires_at: null,
    revoked_at: null,
    policy_violations: [],
  })
  assert.deepEqual(await person.keys.get({ id: key.id }), key)
  assert.equal((await created(person, { never_expires: true })).expires_at, null)
  await refused(person.keys.create(secretKey({ expires_in_days: 3, never_expires: true })), "invalid_expiry")
})

test("a key stops working at the moment it expires", async t => {
  const p = await platform(t)
  const { secret } = await created(await p.person("acme"), { expires_in_days: 1 })

  await p.clock.advance(DAY_MS - 1)
  assert.equal(await use(p, secret), "ok")
  await p.clock.advance(1)
  assert.equal(await use(p, secret), "api_key_expired")
})

test("each type of key has the scopes that the specification gives it", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { projectId, publishableKey } = await p.tenant("acme")

  const full = await person.keys.create({ name: "full", type: "full_access" })
  const publishable = await person.keys.create({ name: "web", type: "publishable", project_id: projectId })

  assert.deepEqual(full.scopes, [...dataPlaneScopes])
  assert.deepEqual([publishable.scopes, publishable.expires_at], [[], null])
  assert.equal(await use(p, publishable.secret ?? ""), "publishable_key_not_allowed")
  assert.equal(await use(p, publishableKey), "publishable_key_not_allowed")
  await refused(person.keys.create({ name: "web", type: "publishable" }), "project_required")
  await refused(person.keys.create(secretKey({ type: "oauth" })), "invalid_parameter")
  await refused(person.keys.create(secretKey({ scopes: ["kv:fly"] })), "invalid_scope")
  await refused(person.keys.create(secretKey({ ip_allowlist: ["10.0.0.0/64"] })), "invalid_cidr")
  await refused(person.keys.update({ id: full.id, scopes: ["kv:read"] }), "invalid_scope")
})

test("who may make a key depends on the role and on the projects a member is restricted to", async t => {
  const p = await platform(t)
  const { projectId } = await p.tenant("acme")
  const owner = await p.person("acme")
  const other = await owner.projects.create({ name: uniqueName() })
  const foreign = await p.tenant("globex")
  const make = async (role: Role, more: object) => (await p.person("acme", role)).keys.create(secretKey(more))

  await make("admin", {})
  await make("member", { project_id: projectId })
  await refused(make("member", {}), "org_wide_key_forbidden")
  const reaching = { project_id: projectId, organization_reach: true }
  await refused(make("member", reaching), "org_wide_key_forbidden")
  assert.equal((await make("admin", reaching)).organization_reach, true)
  await refused(make("member", { project_id: projectId, scopes: ["billing:write"] }), "scope_exceeds_creator")
  await refused(make("viewer", { project_id: projectId }), "role_insufficient")
  await refused(make("owner", { project_id: foreign.projectId }), "project_not_in_organization")

  const restricted = await restrictedMember(p, "acme", [projectId])
  await created(restricted, { project_id: projectId })
  await refused(restricted.keys.create(secretKey({ project_id: other.id })), "project_not_in_organization")
})

test("a restricted member sees the keys of their projects and touches no other", async t => {
  const p = await platform(t)
  const { projectId } = await p.tenant("acme")
  const owner = await p.person("acme")
  const other = await owner.projects.create({ name: uniqueName() })
  const mine = await created(owner, { project_id: projectId })
  const theirs = await created(owner, { project_id: other.id })
  const wide = await created(owner)
  const restricted = await restrictedMember(p, "acme", [projectId])

  const { data, total } = await restricted.keys.list({ limit: 200 })

  assert.ok(data.some(({ id }) => id === mine.id))
  assert.ok(data.every(key => key.project_id === projectId))
  assert.equal(total, data.length)
  for (const { id } of [theirs, wide]) {
    await refused(restricted.keys.get({ id }), "key_not_found")
    await refused(restricted.keys.rotate({ id }), "key_not_found")
    await refused(restricted.keys.revoke({ id }), "key_not_found")
    await refused(restricted.keys.update({ id, name: "mine" }), "key_not_found")
  }
  await restricted.keys.update({ id: mine.id, name: "ours" })
})

test("a list is newest first, in pages, and filtered by status and project", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { projectId } = await p.tenant("acme")
  const made: string[] = []
  for (let count = 0; count < 5; count++) {
    await p.clock.advance(1000)
    made.unshift((await created(person, { project_id: count === 0 ? projectId : null })).id)
  }
  const [newest = "", second = "", third = "", , oldest = ""] = made
  await person.keys.revoke({ id: newest })
  const { id: replacement } = await person.keys.rotate({ id: second, grace_period_seconds: 60 })
  await person.keys.rotate({ id: third, grace_period_seconds: 0 })

  const ids = async (query: Parameters<Svc["keys"]["list"]>[0]) =>
    (await person.keys.list(query)).data.map(({ id }) => id)

  const firstPage = await person.keys.list({ limit: 2 })
  assert.deepEqual([firstPage.data.length, firstPage.total, firstPage.limit], [2, 8, 2])
  assert.deepEqual((await ids({ limit: 200 })).slice(2, 7), made)
  assert.deepEqual(await ids({ status: "revoked" }), [newest])
  assert.deepEqual(await ids({ status: "rotating" }), [second])
  assert.deepEqual(await ids({ status: "expired" }), [third])
  assert.ok((await ids({ status: "active" })).includes(replacement))
  assert.ok((await ids({ project_id: projectId })).includes(oldest))
  assert.ok(!(await ids({ project_id: projectId })).includes(newest))
})

test("a change narrows a key at once, by whichever spelling of its id, and never widens it", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { id, secret } = await created(person, { scopes: ["kv:read", "storage:read"] })
  assert.equal(await use(p, secret), "ok")

  await refused(person.keys.update({ id, scopes: ["kv:write"] }), "invalid_scope")
  await refused(person.keys.update({ id, scopes: [] }), "invalid_scope")
  await person.keys.update({ id, read_only: true, require_approval: true })
  await refused(person.keys.update({ id, read_only: false }), "invalid_parameter")
  await refused(person.keys.update({ id, require_approval: false }), "invalid_parameter")

  const narrowed = await person.keys.update({ id: id.toUpperCase(), scopes: ["storage:read"] })
  assert.deepEqual([narrowed.scopes, narrowed.read_only], [["storage:read"], true])
  assert.equal(await use(p, secret), "missing_scope")

  const other = await created(person)
  assert.equal(await use(p, other.secret), "ok")
  await person.keys.update({ id: other.id.toUpperCase(), ip_allowlist: ["203.0.113.0/24"] })
  assert.equal(await use(p, other.secret), "ip_not_allowed")
  await person.keys.update({ id: other.id, ip_allowlist: ["203.0.113.0/24", "127.0.0.0/8", "::1"] })
  assert.equal(await use(p, other.secret), "ok")
})

test("when a key was last used is written once a minute, not on the request's path", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { id, secret } = await created(person)
  const lastUsed = async () => (await person.keys.get({ id })).last_used_at

  await Promise.all(Array.from({ length: 20 }, () => use(p, secret)))
  const usedAt = new Date(p.clock.now()).toISOString()
  assert.equal(await lastUsed(), null)
  await p.clock.advance(60_000)
  assert.equal(await lastUsed(), usedAt)
})

test("a key that is being changed holds up nobody's last-used time", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const [held, free] = [await created(person), await created(person)]
  await using holder = await holdRow(p, ["core", "api_keys"], held.id)
  const lastUsed = async (id: string) => (await person.keys.get({ id })).last_used_at

  for (const { secret } of [held, free]) await use(p, secret)
  await p.clock.advance(60_000)

  assert.notEqual(await lastUsed(free.id), null)
  assert.equal(await lastUsed(held.id), null)
  await holder.release()
  await use(p, held.secret)
  await p.clock.advance(60_000)
  assert.notEqual(await lastUsed(held.id), null)
})

test("a plan's number of keys holds when a hundred are created at once", async t => {
  const p = await platform(t)
  const { projectId } = await p.tenant("small", "free")
  const person = await p.person("small")
  const attempt = () =>
    created(person, { project_id: projectId }).then(
      ({ id }) => id,
      (error: { code: string }) => error.code,
    )

  const outcomes = await Promise.all(Array.from({ length: 100 }, attempt))

  const ids = outcomes.filter(outcome => outcome !== "plan_limit_reached")
  assert.equal(ids.length, 1, `${ids}`)
  const [id = ""] = ids

  // Publishable keys are no secrets and do not count; nor does a key that is on its way out after a rotation.
  await person.keys.create({ name: "web", type: "publishable", project_id: projectId })
  const replacement = await person.keys.rotate({ id })
  assert.equal(await attempt(), "plan_limit_reached")
  await person.keys.revoke({ id: replacement.id })
  assert.notEqual(await attempt(), "plan_limit_reached")
  assert.equal(await attempt(), "plan_limit_reached")
})

test("a person who belongs to no organization is told so", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { id } = await person.account.get()
  await p.database.db.deleteFrom("core.members").where("user_id", "=", id).execute()

  await refused(person.keys.list(), "role_insufficient")
  await refused(person.keys.create(secretKey()), "role_insufficient")
  await refused(person.approvals.list(), "role_insufficient")
  await refused(person.identity.me(), "role_insufficient")
})
