import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { sql } from "kysely"
import { refused } from "../../core/accounts/testing/people.ts"
import { appendEntry } from "../../core/audit/chain.ts"
import { platform, type TestPlatform, uniqueName } from "../../testing/platform.ts"

const worldOf = async (p: TestPlatform) => {
  const { organizationId } = await p.tenant("acme")
  const { secret } = await p.key("acme", ["compliance:read"])
  const person = await p.person("acme")
  const read = async (path: string) => {
    const response = await p.request(path, { headers: { authorization: `Bearer ${secret}` } })
    assert.equal(response.status, 200)
    return response.text()
  }
  const append = (index: number) =>
    p.database.transaction(tx =>
      appendEntry(tx, {
        tenantId: organizationId,
        ...{ action: "thing.done", occurredAt: new Date(p.clock.now()), outcome: "success" },
        actor: { type: "user", id: "u", name: '=cmd("x"), ünï 😀' },
        targets: [{ type: "thing", id: "t" }],
        context: { ip: "127.0.0.1" },
        metadata: { index, z: [1e21, 1e-7, 0.1], '"hash":"x"': "a\nb" },
      }),
    )
  return { organizationId, svc: p.as(secret), person, read, append }
}

/** As an administrator of the database could. */
const tamper = (p: TestPlatform, change: ReturnType<typeof sql>) =>
  p.database.transaction(async tx => {
    await sql`ALTER TABLE core.audit_events DISABLE TRIGGER ALL`.execute(tx)
    await change.execute(tx)
    await sql`ALTER TABLE core.audit_events ENABLE TRIGGER ALL`.execute(tx)
  })

test("the log is queried by action and time, newest first, in the caller's organization alone", async t => {
  const p = await platform(t)
  const { svc, person } = await worldOf(p)
  const stranger = await p.client("other", "compliance:read")
  await person.projects.create({ name: uniqueName() })
  const middle = new Date(p.clock.now() + 1).toISOString()
  await p.clock.advance(60_000)
  await person.projects.create({ name: uniqueName() })

  const all = await svc.compliance.queryAudit({ action: "projects.create" })
  assert.deepEqual([all.total, all.limit], [2, 100])
  assert.ok((all.data[0]?.sequence ?? 0) > (all.data[1]?.sequence ?? 0))
  assert.equal(all.data[0]?.prev_hash.length, 64)
  assert.equal((await svc.compliance.queryAudit({ action: "projects.create", to: middle })).total, 1)
  assert.equal((await svc.compliance.queryAudit({ action: "projects.create", from: middle })).total, 1)
  assert.equal((await svc.compliance.queryAudit({ limit: 1, offset: 1 })).data.length, 1)
  assert.equal((await stranger.compliance.queryAudit({ action: "projects.create" })).total, 0)
  await refused((await p.client("acme", "kv:read")).compliance.queryAudit({}), "missing_scope")
})

test("an effect outside the database is in the log as intended and as done", async t => {
  const p = await platform(t)
  const { svc } = await worldOf(p)
  const { secret } = await p.key("acme", ["kv:write"])
  await p.request("/v1/probe/outside", {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: '{"text":"x"}',
  })
  const { data } = await svc.compliance.queryAudit({ limit: 2 })
  assert.deepEqual(
    data.map(({ outcome }) => outcome),
    ["success", "intent"],
  )
})

test("verification tells where the chain was changed, and the status fails with it", async t => {
  const p = await platform(t)
  const { svc, append, organizationId } = await worldOf(p)
  for (let index = 0; index < 5; index++) await append(index)
  const before = await svc.compliance.verifyAudit()
  assert.equal(before.valid, true)
  assert.equal(before.first_invalid, null)

  await tamper(
    p,
    sql`
    UPDATE core.audit_events SET action = 'nothing' WHERE sequence = 3 AND tenant_id = ${organizationId}`,
  )

  const after = await svc.compliance.verifyAudit()
  assert.deepEqual([after.valid, after.first_invalid, after.checked], [false, 3, 2])
  assert.deepEqual(after.head, before.head)
  const status = await svc.compliance.status()
  assert.equal(status.status, "non_compliant")
  assert.deepEqual(status.checks.find(({ id }) => id === "audit_chain")?.failing_entities, [
    { type: "audit_event", id: "3" },
  ])
})

test("an export is itself an event, and a filter holds for it too", async t => {
  const p = await platform(t)
  const { svc, read, append } = await worldOf(p)
  for (let index = 0; index < 3; index++) await append(index)
  const lines = (await read("/v1/compliance/audit/export?action=thing.done")).trimEnd().split("\n")
  assert.equal(lines.length, 3)
  const { data } = await svc.compliance.queryAudit({ action: "data_export" })
  assert.equal(data.length, 1)
  assert.equal(data[0]?.actor.type, "api_key")
  const csv = await read("/v1/compliance/audit/export?format=csv&action=thing.done")
  assert.ok(csv.includes(`"'=cmd(""x""), ünï 😀"`))
})

/** The script of docs/guides/compliance.md. */
const VERIFIER = `
import hashlib, json, sys
before = ""
for number, line in enumerate(open(sys.argv[1], encoding="utf-8", newline="\\n"), 1):
    head, own, text = line.rstrip("\\n").split(",", 2)
    claimed = json.loads(head + "," + own + "}")
    digest = hashlib.sha256(bytes.fromhex(before) + b"{" + text.encode()).hexdigest()
    if claimed != {"prev_hash": before, "hash": digest} or json.loads("{" + text)["sequence"] != number:
        sys.exit(f"event {number} does not continue the chain")
    before = digest
print(f"{number} events, head {before}")
`
const python = spawnSync("python3", ["--version"]).status === 0
const skip = python ? false : "needs python3"

test("twenty lines of Python verify an export, and find what was changed", { skip }, async t => {
  const p = await platform(t)
  const { svc, read, append, organizationId } = await worldOf(p)
  const folder = await mkdtemp(join(tmpdir(), "svc-audit-"))
  t.after(() => rm(folder, { recursive: true }))
  const script = join(folder, "verify.py")
  await writeFile(script, VERIFIER)
  const verify = async (text: string) => {
    const file = join(folder, "audit.jsonl")
    await writeFile(file, text)
    const { status, stdout, stderr } = spawnSync("python3", [script, file], { encoding: "utf8" })
    return { status, said: (stdout + stderr).trim() }
  }
  for (let index = 0; index < 510; index++) await append(index)
  const { head } = await svc.compliance.verifyAudit()

  const text = await read("/v1/compliance/audit/export")
  assert.deepEqual(await verify(text), { status: 0, said: `${head.sequence} events, head ${head.hash}` })
  assert.equal((await verify(text.replace('"index":400', '"index":401'))).status, 1)
  const lines = text.split("\n")
  assert.equal(
    (await verify([...lines.slice(0, 9), ...lines.slice(10)].join("\n"))).said,
    "event 10 does not continue the chain",
  )
  await tamper(
    p,
    sql`
    DELETE FROM core.audit_events WHERE sequence = 500 AND tenant_id = ${organizationId}`,
  )
  assert.equal((await verify(await read("/v1/compliance/audit/export"))).status, 1)
})
