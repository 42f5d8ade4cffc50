import assert from "node:assert/strict"
import { test } from "node:test"
import type { Scope } from "@svc/contract"
import type { Svc } from "@svc/sdk"
import { type KeyOptions, PASSWORD, platform, type TestPlatform } from "../../testing/platform.ts"
import { refused } from "../accounts/testing/people.ts"
import { holdRow, holdsWithin } from "../keys/testing/use.ts"

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** A key that must ask a person, with a client of its own. */
const askingKey = async (p: TestPlatform, options: KeyOptions = {}, scopes: Scope[] = ["kv:write"]) => {
  const key = await p.key("acme", scopes, { require_approval: true, ...options })
  return { ...key, svc: p.as(key.secret) }
}

const ask = async (
  p: TestPlatform,
  secret: string,
  body: object = { text: "boom" },
  headers: Record<string, string> = {},
) => {
  const response = await p.request("/v1/probe/danger", {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  })
  const { code, data } = (await response.json()) as {
    code?: string
    data: { status: string; approval: Awaited<ReturnType<Svc["approvals"]["get"]>> }
  }
  return { httpStatus: response.status, headers: response.headers, code, ...data }
}

/** The id of a request that waits. */
const pendingId = async (p: TestPlatform, secret: string, body?: object) =>
  (await ask(p, secret, body)).approval.id

const rowOf = ({ database: { db } }: TestPlatform, id: string) =>
  db.selectFrom("core.approvals").selectAll().where("id", "=", id).executeTakeFirstOrThrow()

test("a high-risk call of a key that must ask is answered 202 with the record a person decides on", async t => {
  const p = await platform(t)
  const { projectId } = await p.tenant("acme")
  const { id, secret } = await askingKey(p, { name: "deployer" })

  const { httpStatus, headers, status, approval } = await ask(p, secret)

  assert.deepEqual([httpStatus, status], [202, "pending_approval"])
  assert.equal(headers.get("location"), `/v1/approvals/${approval.id}`)
  assert.equal(headers.get("retry-after"), "5")
  assert.match(approval.request_digest, /^sha256:[0-9a-f]{64}$/)
  assert.deepEqual(approval, {
    id: approval.id,
    status: "pending",
    operation: "probeDanger",
    method: "POST",
    path: "/v1/probe/danger",
    summary: "Do something that a person must approve",
    detail: null,
    risk: "high",
    request_digest: approval.request_digest,
    requested_by: { type: "api_key", key_id: id, name: "deployer" },
    project_id: projectId,
    requested_at: new Date(p.clock.now()).toISOString(),
    expires_at: new Date(p.clock.now() + 24 * HOUR_MS).toISOString(),
    decided_by: null,
    decided_at: null,
    comment: null,
    result: null,
  })
  assert.deepEqual(p.effects, [])
})

test("calls that are not high-risk, and keys that need not ask, wait for nobody", async t => {
  const p = await platform(t)
  const asking = await askingKey(p)
  const free = await p.key("acme", ["kv:write"])

  await asking.svc.kv.set({ key: "a", value: 1 })
  assert.equal((await ask(p, free.secret)).httpStatus, 200)
  assert.deepEqual(p.effects, ["boom"])
})

test("what a request asks is stored sealed, and so is what came of it", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { secret } = await askingKey(p)
  const id = await pendingId(p, secret, { text: "the-plain-words" })
  await person.approvals.approve({ id })

  const row = await rowOf(p, id)

  assert.equal(row.status, "executed")
  assert.match(row.sealed_request, /^svc:box2:/)
  assert.match(row.result_body ?? "", /^svc:box2:/)
  const text = JSON.stringify(row)
  assert.ok(!text.includes("the-plain-words"))
  assert.ok(!Buffer.from(row.sealed_request.slice(9), "base64url").includes("the-plain-words"))
})

test("only an owner or administrator who has just proved the password decides; a key never", async t => {
  const p = await platform(t)
  const { secret, svc } = await askingKey(p)
  const strong = await p.client("acme", "admin:full")
  const id = await pendingId(p, secret)

  for (const key of [svc, strong]) {
    await refused(key.approvals.approve({ id }), "session_required")
    await refused(key.approvals.reject({ id }), "session_required")
  }
  for (const role of ["member", "viewer"] as const) {
    const person = await p.person("acme", role)
    await refused(person.approvals.approve({ id }), "role_insufficient")
    await refused(person.approvals.reject({ id }), "role_insufficient")
    await refused(person.approvals.cancel({ id }), "role_insufficient")
  }
  await refused((await p.person("globex")).approvals.approve({ id }), "approval_not_found")

  const admin = await p.person("acme", "admin")
  await p.clock.advance(15 * MINUTE_MS + 1)
  await refused(admin.approvals.approve({ id }), "step_up_required")
  await refused(admin.approvals.reject({ id }), "step_up_required")
  assert.deepEqual(p.effects, [])
  await admin.account.reauthenticate({ password: PASSWORD })
  assert.equal((await admin.approvals.approve({ id })).status, "executed")
})

test("a yes runs the request as it was asked, once, and its result is there for the key to read", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { id: userId, email } = await person.account.get()
  const { secret, svc } = await askingKey(p)
  const id = await pendingId(p, secret, { text: "as asked" })

  // Whatever the body of the decision says besides a comment is refused; the stored request is what runs.
  await refused(person.request("approvals.approve", { id, text: "swapped" } as never), "validation_failed")
  const approved = await person.approvals.approve({ id: id.toUpperCase(), comment: "checked" })

  assert.deepEqual(p.effects, ["as asked"])
  const { status, comment, decided_by, result } = approved
  assert.deepEqual(
    { status, comment, decided_by, result },
    {
      status: "executed",
      comment: "checked",
      decided_by: { id: userId, email },
      result: { status: 200, body: { text: "as asked" } },
    },
  )
  assert.deepEqual(await svc.approvals.get({ id }), approved)
  await refused(person.approvals.approve({ id }), "approval_already_decided")
  await refused(person.approvals.reject({ id }), "approval_already_decided")
  await refused(svc.approvals.cancel({ id }), "approval_already_decided")
  assert.deepEqual(p.effects, ["as asked"])
})

test("twenty people who say yes at once run the request once", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { secret } = await askingKey(p)
  const id = await pendingId(p, secret)
  // Holds the row until several have found the request open and are about to move it on.
  await using holder = await holdRow(p, ["core", "approvals"], id)

  const votes = Array.from({ length: 20 }, () => person.approvals.approve({ id }))
  const outcomes = Promise.allSettled(votes)
  await holdsWithin(60_000, async () => (await holder.waiting()) > 2)
  await holder.release()

  const reasons = (await outcomes).map(vote => (vote.status === "rejected" ? vote.reason.code : "ok"))
  assert.deepEqual(p.effects, ["boom"])
  assert.equal(reasons.filter(reason => reason === "ok").length, 1)
  assert.ok(reasons.every(reason => ["ok", "approval_already_decided"].includes(reason)))
})

test("a yes and a no at once: the request runs if and only if the yes was first", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { secret, svc } = await askingKey(p)
  for (let round = 0; round < 5; round++) {
    const before = p.effects.length
    const id = await pendingId(p, secret)
    await Promise.allSettled([
      person.approvals.approve({ id }),
      person.approvals.reject({ id }),
      svc.approvals.cancel({ id }),
    ])
    const { status } = await svc.approvals.get({ id })
    assert.equal(p.effects.length - before, status === "executed" ? 1 : 0)
    assert.ok(["executed", "rejected", "cancelled"].includes(status), status)
  }
})

test("a request that was rejected, withdrawn or left alone for a day never runs", async t => {
  const p = await platform(t)
  const { secret, svc } = await askingKey(p)
  const waiting = await Promise.all([pendingId(p, secret), pendingId(p, secret), pendingId(p, secret)])
  const [rejected, cancelled, lapsed] = waiting
  await (await p.person("acme")).approvals.reject({ id: rejected, comment: "no" })
  await svc.approvals.cancel({ id: cancelled })
  await p.clock.advance(24 * HOUR_MS - 1)
  assert.equal((await svc.approvals.get({ id: lapsed })).status, "pending")
  await p.clock.advance(1)

  const states = await Promise.all(waiting.map(id => svc.approvals.get({ id })))
  assert.deepEqual(
    states.map(({ status }) => status),
    ["rejected", "cancelled", "expired"],
  )
  const person = await p.person("acme")
  for (const id of waiting) await refused(person.approvals.approve({ id }), "approval_already_decided")
  await p.clock.advance(MINUTE_MS)
  assert.equal((await rowOf(p, lapsed)).status, "expired")
  assert.deepEqual(p.effects, [])
})

test("a key sees its own requests and no other's; a restricted member those of their projects", async t => {
  const p = await platform(t)
  const { projectId } = await p.tenant("acme")
  const other = await (await p.person("acme")).projects.create({ name: "other" })
  const here = await askingKey(p)
  const there = await askingKey(p, { project_id: other.id })
  const [mine, theirs] = [await pendingId(p, here.secret), await pendingId(p, there.secret)]

  assert.deepEqual(
    (await here.svc.approvals.list()).data.map(({ id }) => id),
    [mine],
  )
  await refused(here.svc.approvals.get({ id: theirs }), "approval_not_found")
  await refused(here.svc.approvals.cancel({ id: theirs }), "approval_not_found")

  const person = await p.person("acme", "viewer")
  assert.equal((await person.approvals.list({ status: "pending" })).total, 2)
  const { id: user_id } = await person.account.get()
  await p.database.db
    .updateTable("core.members")
    .set({ project_ids: [projectId] })
    .where("user_id", "=", user_id)
    .execute()
  assert.deepEqual(
    (await person.approvals.list()).data.map(({ id }) => id),
    [mine],
  )
  await refused(person.approvals.get({ id: theirs }), "approval_not_found")
})

test("what the key may no longer do is not done, although a person said yes", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { db } = p.database
  /** Changes the key behind the platform's back, so that the request still waits. */
  const resultAfter = async (change: object) => {
    const { id: keyId, secret } = await askingKey(p)
    const id = await pendingId(p, secret)
    await db.updateTable("core.api_keys").set(change).where("id", "=", keyId).execute()
    const { status, result } = await person.approvals.approve({ id })
    assert.equal(status, "failed")
    return [result?.status, (result?.body as { code: string } | undefined)?.code]
  }
  const past = new Date(p.clock.now() - 1)

  assert.deepEqual(await resultAfter({ revoked_at: past }), [401, "api_key_revoked"])
  assert.deepEqual(await resultAfter({ expires_at: past }), [401, "api_key_expired"])
  assert.deepEqual(await resultAfter({ scopes: ["kv:read"] }), [403, "missing_scope"])
  assert.deepEqual(await resultAfter({ read_only: true }), [403, "key_read_only"])
  assert.deepEqual(await resultAfter({ ip_allowlist: ["203.0.113.1"] }), [403, "ip_not_allowed"])
  assert.deepEqual(p.effects, [])
})

test("revoking a key withdraws what it was waiting for", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { id: keyId, secret } = await askingKey(p)
  const id = await pendingId(p, secret)

  await person.keys.revoke({ id: keyId })

  assert.equal((await person.approvals.get({ id })).status, "cancelled")
  await refused(person.approvals.approve({ id }), "approval_already_decided")
  assert.deepEqual(p.effects, [])
})

test("a request whose execution was refused keeps the refusal as its result", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { secret, svc } = await askingKey(p)
  const id = await pendingId(p, secret, { text: "x", fail: true })

  assert.equal((await person.approvals.approve({ id })).status, "failed")

  const { status, result } = await svc.approvals.get({ id })
  assert.equal(status, "failed")
  assert.equal(result?.status, 409)
  assert.equal((result?.body as { code: string } | undefined)?.code, "conflict")
})

test("a request that was tampered with in the database does not run", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { secret } = await askingKey(p)
  const [id, other] = [
    await pendingId(p, secret, { text: "one" }),
    await pendingId(p, secret, { text: "two" }),
  ]
  const { sealed_request } = await rowOf(p, other)
  await p.database.db.updateTable("core.approvals").set({ sealed_request }).where("id", "=", id).execute()

  const { status, result } = await person.approvals.approve({ id })

  assert.deepEqual([status, result?.status], ["failed", 500])
  assert.deepEqual(p.effects, [])
})

test("a retry of a request that waits gets the same approval and asks nobody twice", async t => {
  const p = await platform(t)
  const { secret, svc } = await askingKey(p)
  const headers = { "idempotency-key": "once" }

  const attempts = await Promise.all(
    Array.from({ length: 5 }, () => ask(p, secret, { text: "boom" }, headers)),
  )
  const again = await ask(p, secret, { text: "boom" }, headers)

  assert.equal((await svc.approvals.list()).total, 1)
  assert.equal(again.status, "pending_approval")
  assert.equal(again.headers.get("idempotent-replayed"), "true")
  assert.equal(again.headers.get("location"), `/v1/approvals/${again.approval.id}`)
  assert.equal(again.headers.get("retry-after"), "5")
  for (const attempt of attempts) {
    if (attempt.code === undefined) assert.deepEqual(attempt.approval, again.approval)
    else assert.equal(attempt.code, "idempotency_key_in_use")
  }
  assert.equal((await ask(p, secret, { text: "other" }, headers)).code, "idempotency_key_mismatch")
})

test("a key has a hundred requests waiting at most, however many it sends at once", async t => {
  const p = await platform(t)
  const { secret, svc } = await askingKey(p)

  const codes = await Promise.all(Array.from({ length: 120 }, async () => (await ask(p, secret)).code))

  assert.equal(codes.filter(code => code === undefined).length, 100)
  assert.equal(codes.filter(code => code === "too_many_pending_approvals").length, 20)
  const [first] = (await svc.approvals.list({ limit: 1 })).data
  await svc.approvals.cancel({ id: first?.id ?? "" })
  assert.equal((await ask(p, secret)).code, undefined)
})

test("what a process that died left approved is run once; what it left executing is not run again", async t => {
  const p = await platform(t)
  const { secret, svc } = await askingKey(p)
  const [approved, executing] = [
    await pendingId(p, secret, { text: "approved" }),
    await pendingId(p, secret, { text: "executing" }),
  ]
  const now = new Date(p.clock.now())
  const leave = (id: string, change: object) =>
    p.database.db.updateTable("core.approvals").set(change).where("id", "=", id).execute()
  await leave(approved, { status: "approved", decided_at: now })
  await leave(executing, { status: "executing", decided_at: now, executing_since: now })

  await p.clock.advance(MINUTE_MS - 1)
  assert.deepEqual(p.effects, [])
  await p.clock.advance(10_001)
  await p.clock.advance(10 * MINUTE_MS)

  assert.deepEqual(p.effects, ["approved"])
  assert.equal((await svc.approvals.get({ id: approved })).status, "executed")
  const cut = await svc.approvals.get({ id: executing })
  assert.deepEqual([cut.status, cut.result], ["failed", { status: 500, body: null }])
})

test("request, decision and effect are in the audit trail, and say which approval they belong to", async t => {
  const p = await platform(t)
  const person = await p.person("acme")
  const { id: keyId, secret } = await askingKey(p)
  const id = await pendingId(p, secret, { text: "the-plain-words" })
  await person.approvals.approve({ id })

  const entries = await p.database.db
    .selectFrom("core.audit_events")
    .selectAll()
    .where("outcome", "=", "success")
    .orderBy("sequence")
    .execute()
  const of = (action: string) => entries.find(entry => entry.action === action)

  assert.deepEqual(of("approval_requested")?.targets, [{ type: "approval", id }])
  assert.equal(
    (of("approval_approved")?.actor as { id: string } | undefined)?.id,
    (await person.account.get()).id,
  )
  const effect = of("probe.danger")
  assert.equal((effect?.actor as { id: string } | undefined)?.id, keyId)
  assert.equal((effect?.context as { approval_id: string } | undefined)?.approval_id, id)
  assert.ok(!JSON.stringify(entries).includes("the-plain-words"))
})
