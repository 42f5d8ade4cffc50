import assert from "node:assert/strict"
import { test } from "node:test"
import { platform, type TestPlatform, uniqueName } from "../../testing/platform.ts"

const manage = ["database:manage", "database:query", "database:branch"] as const

const acme = (p: TestPlatform) => p.client("acme", ...manage)

const refused = (status: number, code: string) => (error: unknown) => {
  const { status: actual, code: actualCode } = error as { status: number; code: string }
  assert.deepEqual([actual, actualCode], [status, code])
  return true
}

test("a database is created in the version and tier asked for, awake, with a password shown once", async t => {
  const p = await platform(t)
  const svc = await acme(p)

  for (const pg_version of [16, 17, 18]) {
    const made = await svc.databases.create({ name: `orders-${pg_version}`, pg_version, isolation: "shared" })
    assert.equal(made.pg_version, pg_version)
    assert.equal(made.isolation, "shared")
    assert.equal(made.compute_state, "active")
    assert.match(made.password ?? "", /^[\w-]{32}$/)
    assert.ok(made.connection_uri?.includes(`owner.${made.default_branch_id}:${made.password}@`))
    const shown = await svc.databases.get({ id: made.id })
    assert.equal("password" in shown || "connection_uri" in shown, false)
  }
  const { data, total } = await svc.databases.list({})
  assert.equal(total, 3)
  assert.deepEqual(
    data.map(({ name }) => name),
    ["orders-18", "orders-17", "orders-16"],
  )
})

test("version 16 and tier isolated are what a request gets that names neither", async t => {
  const p = await platform(t)
  const { pg_version, isolation } = await (await acme(p)).databases.create({ name: "plain" })
  assert.deepEqual({ pg_version, isolation }, { pg_version: 16, isolation: "isolated" })
})

test("names, versions and tiers that do not exist are refused, each by its own code", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  for (const name of ["", "Orders", "1st", "a b", "x".repeat(64), "drop;table"]) {
    await assert.rejects(svc.databases.create({ name }), refused(400, "validation_failed"), name)
  }
  for (const pg_version of [15, 16.5, "16", null] as unknown as number[])
    await assert.rejects(svc.databases.create({ name: "a", pg_version }), (error: Error) => {
      assert.match(error.message, /16, 17 or 18/)
      return refused(400, "unsupported_pg_version")(error)
    })
  await assert.rejects(
    svc.databases.create({ name: "a", isolation: "cosy" }),
    refused(400, "invalid_isolation_tier"),
  )
  await assert.rejects(
    svc.databases.create({ name: "a", isolation: "dedicated" }),
    refused(501, "isolation_tier_unavailable"),
  )
})

test("a name is unique in its organization, and free in another", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  await svc.databases.create({ name: "orders" })
  await assert.rejects(svc.databases.create({ name: "orders" }), refused(409, "name_taken"))
  const globex = await p.client("globex", ...manage)
  assert.equal((await globex.databases.create({ name: "orders" })).name, "orders")
})

test("of fifty callers who provision at once, one makes the database and all get the same", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const all = await Promise.all(Array.from({ length: 50 }, () => svc.databases.provision()))
  assert.equal(new Set(all.map(({ database }) => database.id)).size, 1)
  assert.equal(all.filter(({ created }) => created).length, 1)
  assert.equal(all.filter(({ password }) => password !== undefined).length, 1)
  assert.equal(all[0]?.database.is_default, true)
  assert.equal((await svc.databases.list({})).total, 1)
})

test("a database sleeps when its time has come, and wakes when asked", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const { id } = await svc.databases.create({ name: "sleepy", suspend_timeout_seconds: 60 })
  await p.clock.advance(59_000)
  assert.equal((await svc.databases.get({ id })).compute_state, "active")
  await p.clock.advance(2_000)
  assert.equal((await svc.databases.get({ id })).compute_state, "idle")

  const { compute_state } = await svc.databases.wake({ id })
  assert.ok(["starting", "active"].includes(compute_state))
  const suspended = await svc.databases.suspend({ id })
  assert.equal(suspended.compute_state, "idle")
})

test("a timeout of 0 keeps a database awake", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const { id } = await svc.databases.create({ name: "restless", suspend_timeout_seconds: 0 })
  await p.clock.advance(7 * 86_400_000)
  assert.equal((await svc.databases.get({ id })).compute_state, "active")
})

test("a deleted database hides, can be restored in its grace, and is gone for good after", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const { id, name } = await svc.databases.create({ name: "orders", pg_version: 17 })
  const deleted = await svc.databases.delete({ id })
  assert.equal(deleted.state, "deleted")
  assert.equal(Date.parse(deleted.purge_at ?? "") - Date.parse(deleted.deleted_at ?? ""), 7 * 86_400_000)
  assert.equal((await svc.databases.list({})).total, 0)
  assert.equal((await svc.databases.list({ include_deleted: true })).total, 1)
  await assert.rejects(svc.databases.delete({ id }), refused(404, "database_not_found"))
  await assert.rejects(svc.databases.wake({ id }), refused(404, "database_not_found"))
  await assert.rejects(svc.databases.create({ name }), refused(409, "name_taken"))

  const restored = await svc.databases.restore({ id })
  assert.deepEqual([restored.state, restored.pg_version, restored.purge_at], ["active", 17, null])
  await svc.databases.delete({ id })
  await p.clock.advance(7 * 86_400_000 + 120_000)
  await assert.rejects(svc.databases.restore({ id }), refused(404, "database_not_found"))
  assert.equal((await svc.databases.list({ include_deleted: true })).total, 0)
  assert.equal((await svc.databases.create({ name })).name, name)
})

test("a branch has a connection string of its own, and its database's version", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const { id, default_branch_id } = await svc.databases.create({ name: "orders", pg_version: 18 })
  const branch = await svc.databases.createBranch({ id, name: "preview" })
  assert.equal(branch.parent_id, default_branch_id)
  assert.match(branch.parent_lsn ?? "", /^[0-9A-F]+\/[0-9A-F]+$/)
  assert.ok(branch.connection_uri?.includes(`owner.${branch.id}:`))
  assert.equal((await svc.databases.listBranches({ id })).total, 2)
  await assert.rejects(svc.databases.createBranch({ id, name: "preview" }), refused(409, "name_taken"))
})

test("a branch that is the default, protected or a parent cannot be deleted", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const { id, default_branch_id } = await svc.databases.create({ name: "orders" })
  const parent = await svc.databases.createBranch({ id, name: "parent" })
  const child = await svc.databases.createBranch({ id, name: "child", parent_id: parent.id })
  const inUse = refused(409, "branch_in_use")
  await assert.rejects(svc.databases.deleteBranch({ id, branch_id: default_branch_id }), inUse)
  await assert.rejects(svc.databases.deleteBranch({ id, branch_id: parent.id }), inUse)
  await svc.databases.updateBranch({ id, branch_id: child.id, protected: true })
  await assert.rejects(svc.databases.deleteBranch({ id, branch_id: child.id }), inUse)
  await svc.databases.updateBranch({ id, branch_id: child.id, protected: false })
  await svc.databases.deleteBranch({ id, branch_id: child.id })
  await svc.databases.deleteBranch({ id, branch_id: parent.id })
  assert.equal((await svc.databases.listBranches({ id })).total, 1)
})

test("a branch ends when its time is over", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const { id } = await svc.databases.create({ name: "orders" })
  const expires_at = new Date(p.clock.now() + 3_600_000).toISOString()
  await svc.databases.createBranch({ id, name: uniqueName(), expires_at })
  await p.clock.advance(3_500_000)
  assert.equal((await svc.databases.listBranches({ id })).total, 2)
  await p.clock.advance(200_000)
  assert.equal((await svc.databases.listBranches({ id })).total, 1)
})

test("a database of another project of the same organization answers like none", async t => {
  const p = await platform(t)
  const svc = await acme(p)
  const { id } = await svc.databases.create({ name: "orders" })
  const person = await p.person("acme")
  const other = await person.projects.create({ name: "second" })
  const { secret } = await p.key("acme", manage, { project_id: other.id })
  await assert.rejects(p.as(secret).databases.get({ id }), refused(404, "database_not_found"))
})

test("a key of the whole organization must name a project", async t => {
  const p = await platform(t)
  const { secret } = await p.key("acme", manage, { project_id: null })
  await assert.rejects(p.as(secret).databases.list({}), (error: Error) => {
    assert.equal(error.message, "this operation requires a project-scoped API key")
    return true
  })
})
