import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { sql } from "kysely"
import { refused } from "../../core/accounts/testing/people.ts"
import { personalData as ofCore } from "../../core/personal-data.ts"
import { modules } from "../../modules.ts"
import { eventually } from "../../testing/eventually.ts"
import { everyScope, platform, type TestPlatform } from "../../testing/platform.ts"
import { newAddress } from "../auth/testing/people.ts"
import { monthAfter } from "./gdpr-handlers.ts"

const DAY_MS = 86_400_000

const worldOf = async (t: TestContext) => {
  const p = await platform(t)
  const { organizationId: tenant_id, projectId } = await p.tenant("acme")
  const svc = await p.wide("acme", ...everyScope)
  /** A user of the tenant's application, with a session, a mail and a ticket. */
  const newUser = async (tenant = "acme", email = newAddress()) => {
    const { organizationId, projectId } = await p.tenant(tenant)
    const { rows } = await sql<{ id: string }>`
      INSERT INTO auth.users (id, organization_id, project_id, email, password_hash, user_metadata, app_metadata, created_at, updated_at)
      VALUES (gen_random_uuid(), ${organizationId}, ${projectId}, ${email}, 'the hash', '{"plan":"gold"}', '{}', now(), now())
      RETURNING id`.execute(p.database.db)
    const id = rows[0]?.id ?? ""
    await sql`
      INSERT INTO auth.sessions (id, project_id, user_id, number, numbered_at, level, methods, ip, user_agent, created_at,
        idle_until, expires_at)
      VALUES (gen_random_uuid(), ${projectId}, ${id}, 1, now(), 'aal1', '{pwd}', '203.0.113.9', 'Firefox', now(), now(), now())`.execute(
      p.database.db,
    )
    await sql`
      INSERT INTO support.tickets (id, organization_id, number, subject, description, status, priority, tags, requester_id,
        requester_name, requester_email, comment_count, note_count, reply_key, created_at, updated_at)
      VALUES (gen_random_uuid(), ${organizationId}, nextval('support.ticket_numbers'), 'Help', 'of ' || ${email}, 'open', 'low',
        '{}', ${id}, 'Ada', ${email.toUpperCase()}, 0, 0, '\\x00', now(), now())`.execute(p.database.db)
    return { id, email }
  }
  const ended = (id: string) =>
    eventually("the request is completed", async () => {
      const request = await svc.compliance.getRequest({ id })
      return request.status === "completed" ? request : undefined
    })
  return { p, svc, tenant_id, projectId, newUser, ended }
}

/** Every table of the database that has the text in one of its rows. */
const tablesWith = async ({ database: { db } }: TestPlatform, text: string): Promise<string[]> => {
  const { rows } = await sql<{ name: string }>`
    SELECT table_schema || '.' || table_name AS name FROM information_schema.tables
    WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')`.execute(db)
  const found = []
  for (const { name } of rows) {
    const { rows: hits } = await sql`
      SELECT 1 FROM ${sql.table(name)} AS t WHERE lower(t::text) LIKE ${`%${text.toLowerCase()}%`} LIMIT 1`.execute(
      db,
    )
    // Replies to repeated requests are deleted after a day.
    if (hits.length > 0 && name !== "kernel.replays") found.push(name)
  }
  return found.sort()
}

test("a request goes from pending to in progress to its end, and nowhere else", async t => {
  const { p, svc } = await worldOf(t)
  const subject = { type: "end_user", email: "ada@example.com" } as const
  const { id, status, due_at, received_at } = await svc.compliance.createRequest({
    kind: "rectification",
    subject,
  })
  assert.equal(status, "pending")
  assert.equal(due_at, monthAfter(new Date(received_at)).toISOString())
  await refused(svc.compliance.updateRequestStatus({ id, status: "completed" }), "invalid_state_transition")
  await svc.compliance.updateRequestStatus({ id, status: "in_progress", note: "asked back" })
  await refused(svc.compliance.updateRequestStatus({ id, status: "pending" }), "invalid_state_transition")
  const stranger = await p.wide("other", "compliance:read", "compliance:write")
  await refused(stranger.compliance.getRequest({ id }), "gdpr_request_not_found")
  await refused(
    stranger.compliance.updateRequestStatus({ id, status: "completed" }),
    "gdpr_request_not_found",
  )
  const { completed_at } = await svc.compliance.updateRequestStatus({
    id,
    status: "rejected",
    note: "not them",
  })
  assert.ok(completed_at)
  await refused(svc.compliance.updateRequestStatus({ id, status: "completed" }), "invalid_state_transition")
  assert.equal((await stranger.compliance.listRequests({})).total, 0)
  assert.equal((await svc.compliance.listRequests({})).total, 1)
})

test("a month after the last day of January is the last of February", () => {
  assert.equal(monthAfter(new Date("2028-01-31T10:00:00Z")).toISOString(), "2028-02-29T10:00:00.000Z")
  assert.equal(monthAfter(new Date("2026-12-15T10:00:00Z")).toISOString(), "2027-01-15T10:00:00.000Z")
})

const unzip = spawnSync("unzip", ["-v"]).status === 0

test("an archive has what is stored of the person, of nobody else, and no secrets", async t => {
  const { p, svc, tenant_id, newUser, ended } = await worldOf(t)
  const { id: userId, email } = await newUser()
  const other = await newUser()
  const sameElsewhere = await newUser("other", email)
  const subject = { type: "end_user", email: email.toUpperCase() } as const

  const { request, download_url } = await svc.compliance.gdprExport({ tenant_id, subject })
  assert.equal(download_url, null)
  const done = await ended(request.id)
  const again = await svc.compliance.gdprExport({ tenant_id, subject })
  assert.equal(again.request.id, request.id)
  assert.ok(again.download_url?.endsWith(`/v1/compliance/gdpr/requests/${request.id}/archive`))
  assert.deepEqual(done.subject.ids, [userId])

  const { secret } = await p.key("acme", ["compliance:write"])
  const path = `/v1/compliance/gdpr/requests/${request.id}/archive`
  const response = await p.request(path, { headers: { authorization: `Bearer ${secret}` } })
  assert.equal(response.headers.get("content-type"), "application/zip")
  const bytes = Buffer.from(await response.arrayBuffer())
  assert.equal(bytes.length, done.archive?.bytes)
  await refused(
    (await p.wide("other", "compliance:write")).compliance.downloadArchive({ id: request.id }),
    "gdpr_request_not_found",
  )

  if (unzip) {
    const folder = await mkdtemp(join(tmpdir(), "svc-archive-"))
    t.after(() => rm(folder, { recursive: true }))
    await writeFile(join(folder, "a.zip"), bytes)
    const read = (...parameters: string[]) =>
      spawnSync("unzip", [...parameters], { cwd: folder, encoding: "utf8" }).stdout
    assert.match(read("-t", "a.zip"), /No errors detected/)
    const [user] = JSON.parse(read("-p", "a.zip", "auth/users.json")) as Record<string, unknown>[]
    assert.equal(user?.email, email)
    assert.deepEqual(user?.user_metadata, { plan: "gold" })
    assert.equal(JSON.parse(read("-p", "a.zip", "auth/sessions.json")).length, 1)
    assert.equal(JSON.parse(read("-p", "a.zip", "support/tickets.json")).length, 1)
    const all = read("-p", "a.zip")
    for (const foreign of [other.email, other.id, sameElsewhere.id, "the hash"])
      assert.ok(!all.includes(foreign))
  } else t.diagnostic("unzip is missing")

  await p.clock.advance(8 * DAY_MS)
  await refused(svc.compliance.downloadArchive({ id: request.id }), "gdpr_request_not_found")
  await eventually("the archive is removed", async () => {
    await p.clock.advance(3_600_000)
    return (await svc.compliance.getRequest({ id: request.id })).archive === null
  })
})

test("after an erasure no table has the address; what others have of the same address stays", async t => {
  const { p, svc, tenant_id, newUser, ended } = await worldOf(t)
  const { id: userId, email } = await newUser()
  const neighbour = await newUser()
  assert.deepEqual(await tablesWith(p, email), ["auth.users", "support.tickets"])

  const { request } = await svc.compliance.gdprDelete({
    tenant_id,
    subject: { type: "end_user", id: userId },
  })
  const done = await ended(request.id)

  assert.deepEqual(await tablesWith(p, email), [])
  assert.equal((await tablesWith(p, neighbour.email)).length, 2)
  assert.deepEqual(
    done.report
      .filter(({ rows, action }) => rows > 0 && action === "deleted")
      .map(({ table, rows }) => [table, rows])
      .sort(),
    [
      ["auth.sessions", 1],
      ["auth.users", 1],
      ["support.tickets", 1],
    ],
  )
  assert.ok(
    done.report.some(({ table, action, reason }) => table === "core.users" && action === "kept" && reason),
  )
  assert.equal(done.subject.email, null)
  assert.equal(done.subject.email_sha256?.length, 64)

  const elsewhere = await newUser("other", email)
  const same = await svc.compliance.gdprDelete({ tenant_id, subject: { type: "end_user", email } })
  await ended(same.request.id)
  const { rows } = await sql`SELECT FROM auth.users WHERE id = ${elsewhere.id}`.execute(p.database.db)
  assert.equal(rows.length, 1)
})

test("an erasure that fails in the middle goes on from there, and tells every row once", async t => {
  const { p, svc, tenant_id, newUser, ended } = await worldOf(t)
  const { id: userId, email } = await newUser()
  await sql`
    INSERT INTO support.comments (id, organization_id, ticket_id, author_type, author_id, author_name, body, internal, source, created_at)
    SELECT gen_random_uuid(), organization_id, tickets.id, 'customer', requester_id, 'Ada', ${email}, false, 'api', now()
    FROM support.tickets, generate_series(1, 2500) WHERE requester_id = ${userId}`.execute(p.database.db)
  await sql`ALTER TABLE auth.users RENAME TO away`.execute(p.database.db)
  await sql`ALTER TABLE auth.away RENAME TO users`.execute(p.database.db)
  await sql`
    CREATE FUNCTION auth.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$`.execute(
    p.database.db,
  )
  await sql`CREATE TRIGGER fail BEFORE DELETE ON support.tickets EXECUTE FUNCTION auth.fail()`.execute(
    p.database.db,
  )

  const { request } = await svc.compliance.gdprDelete({ tenant_id, subject: { type: "end_user", email } })
  const failed = await eventually("the attempt fails", async () => {
    const now = await svc.compliance.getRequest({ id: request.id })
    return now.failure ? now : undefined
  })
  assert.equal(failed.status, "in_progress")
  assert.equal(failed.report.find(({ table }) => table === "support.comments")?.rows, 2_500)
  await sql`DROP TRIGGER fail ON support.tickets`.execute(p.database.db)
  await p.clock.advance(60_000)

  const done = await ended(request.id)
  assert.equal(done.failure, null)
  assert.equal(done.report.find(({ table }) => table === "support.comments")?.rows, 2_500)
  assert.deepEqual(await tablesWith(p, email), [])
})

test("a member is removed before they are erased; who names no subject means themselves", async t => {
  const { p, svc, tenant_id } = await worldOf(t)
  const person = await p.person("acme")
  const { id, email } = await person.account.get()
  await refused(
    svc.compliance.gdprDelete({ tenant_id, subject: { type: "member", email } }),
    "invalid_state_transition",
  )
  await refused(person.compliance.gdprDelete({ tenant_id }), "invalid_state_transition")
  await refused(svc.compliance.gdprExport({ tenant_id }), "invalid_parameter")
  await refused(svc.compliance.gdprDelete({ tenant_id }), "invalid_parameter")
  await refused(
    svc.compliance.createRequest({ kind: "access", subject: { type: "member" } }),
    "invalid_parameter",
  )
  const { request } = await person.compliance.gdprExport({ tenant_id })
  assert.deepEqual(request.subject.ids, [id])
  const other = await p.tenant("other")
  await refused(svc.compliance.gdprExport({ tenant_id: other.organizationId }), "tenant_mismatch")
})

test("a correction changes the name where tickets have it, and is on record", async t => {
  const { p, svc, tenant_id, newUser } = await worldOf(t)
  const { email } = await newUser()
  const { request } = await svc.compliance.gdprCorrect({
    tenant_id,
    subject: { type: "end_user", email },
    corrections: [{ field: "name", value: "Ada Lovelace" }],
    reason: "misspelt",
  })
  assert.deepEqual(
    [request.status, request.kind, request.details],
    ["completed", "rectification", "misspelt"],
  )
  assert.equal(request.report.find(({ table }) => table === "support.tickets")?.rows, 1)
  assert.deepEqual(await tablesWith(p, "Ada Lovelace"), ["support.tickets"])
  await refused(
    svc.compliance.gdprCorrect({ tenant_id, corrections: [{ field: "name", value: "x" }] }),
    "invalid_parameter",
  )
})

test("consent is what was said last, and every change stays on record", async t => {
  const { p, svc, tenant_id } = await worldOf(t)
  const none = await svc.compliance.getConsent({ tenant_id })
  assert.deepEqual([none.consents.marketing, none.updated_at, none.history], [false, null, []])
  await svc.compliance.updateConsent({
    tenant_id,
    consents: { marketing: true, analytics: true },
    policy_version: "1",
  })
  await p.clock.advance(1000)
  const { consents, policy_version, history } = await svc.compliance.updateConsent({
    tenant_id,
    consents: { marketing: false },
  })
  assert.deepEqual(consents, { marketing: false, analytics: true, ai_training: false })
  assert.equal(policy_version, "1")
  assert.deepEqual(
    history.map(({ consents: { marketing } }) => marketing),
    [false, true],
  )
  const events = await svc.compliance.queryAudit({ action: "consent_changed" })
  assert.equal(events.total, 2)
})

test("a request past its date is what the status warns of", async t => {
  const { p, svc } = await worldOf(t)
  const dues = async () =>
    (await svc.compliance.status()).checks.find(check => check.id === "requests_answered")
  assert.equal((await dues())?.status, "pass")
  const { id } = await svc.compliance.createRequest({
    kind: "access",
    subject: { type: "end_user", email: "ada@example.com" },
  })
  await p.clock.advance(32 * DAY_MS)
  assert.deepEqual((await dues())?.failing_entities, [{ type: "gdpr_request", id }])
})

/** Names of columns that hold something of people. */
const PERSONAL =
  /(^|_)(email|emails|user_agent|ip|phone|address|addresses|recipient|user_id|client_addr|username|user_name|author|author_id|author_name|account_login|contact_name|requester_name|login)$/

/** Addresses that are none of people. */
const NOT_OF_PEOPLE = new Set([
  "computers.computers", // of machines
  "core.organizations", // ranges that its keys work from
  "ai_rag.documents", // of files in the blob port
  "registry.pieces",
  "lb.backends", // of servers
  "vpc.peers", // inside a private network
  "storage.versions",
  "storage.blobs",
  "storage.objects",
  "storage.parts",
  "storage.uploads",
])

test("every table with personal columns is declared by its area", async t => {
  const p = await platform(t)
  const sources = await Promise.all(modules.map(({ personalData }) => personalData?.()))
  const all = [ofCore, ...sources.flatMap(source => (source ? [source.personalData] : []))]
  const declared = new Set(
    all.flatMap(({ tables, kept = [] }) => [...tables, ...kept].map(({ table }) => table)),
  )
  const { rows } = await sql<{ table: string; column: string }>`
    SELECT table_schema || '.' || table_name AS table, column_name AS column FROM information_schema.columns
    WHERE table_schema NOT IN ('pg_catalog', 'information_schema')`.execute(p.database.db)
  const missing = rows.filter(
    ({ table, column }) => PERSONAL.test(column) && !declared.has(table) && !NOT_OF_PEOPLE.has(table),
  )
  assert.deepEqual(missing, [], "declare these in personal-data.ts of their area")
  const known = new Set(rows.map(({ table, column }) => `${table}.${column}`))
  for (const { table, match, tenant, omits = [], identity } of all.flatMap(({ tables }) => tables))
    for (const column of [
      ...Object.values(tenant),
      ...(match.ids ?? []),
      ...(match.emails ?? []),
      ...omits,
      ...Object.values(identity ?? {}),
      ...(match.through ? [match.through.column] : []),
    ])
      assert.ok(known.has(`${table}.${column}`), `${table} has no ${column}`)
})
