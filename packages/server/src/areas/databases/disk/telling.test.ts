import assert from "node:assert/strict"
import { test } from "node:test"
import { eventOf, passing, worldOf } from "../../webhooks/testing/world.ts"

test("a database tells when it becomes full and when it can be written again", async t => {
  // A new database takes some 35 MB, and so does each branch.
  const { p, receiver, svc, register } = await worldOf(t, { env: { SVC_DATABASE_DISK_MB: "60" } })
  const { secret } = await register(["database.storage_warning", "database.read_only", "database.writable"])
  const { id } = await svc.databases.create({ name: "told" })
  const branch = await svc.databases.createBranch({ id, name: "copy" })
  await passing(p, "it is full", () => receiver.requests.length === 1)
  await svc.databases.deleteBranch({ id, branch_id: branch.id })
  await passing(p, "it is writable", () => receiver.requests.length === 2)
  const told = await Promise.all(receiver.requests.map(request => eventOf(request, secret)))
  assert.deepEqual(
    told.map(({ type, data }) => [type, data.database_id, data.name, data.limit_bytes]),
    [
      ["database.read_only", id, "told", 60 * 2 ** 20],
      ["database.writable", id, "told", 60 * 2 ** 20],
    ],
  )
})
