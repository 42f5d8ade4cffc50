/** Processes of one installation share a control database; what one of them is making is not another's to remove. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { eventually } from "../../testing/eventually.ts"
import { platform, type TestPlatform } from "../../testing/platform.ts"

const LEASE_MS = 60_000

const databaseStates = async ({ database }: TestPlatform): Promise<string[]> =>
  (await database.db.selectFrom("databases.databases").select("state").execute()).map(({ state }) => state)

test("what another process is creating is left alone while its lease lasts, and removed when that is over", async t => {
  const first = await platform(t)
  const acme = await first.client("acme", "database:manage")
  await acme.databases.create({ name: "orders" })
  const { db } = first.database
  const leaseUntil = new Date(first.clock.now() + LEASE_MS)
  // As they are halfway, and as a process leaves them that is killed then.
  await db.updateTable("databases.volumes").set({ state: "creating", lease_until: leaseUntil }).execute()
  await db.updateTable("databases.branches").set({ state: "creating" }).execute()
  await db.updateTable("databases.databases").set({ state: "creating" }).execute()

  const beside = await platform(t, {
    databaseUrl: first.config.databaseUrl ?? "",
    startMs: first.clock.now() + 1_000,
  })
  const other = await beside.client("other", "database:manage", "database:read")
  // Loads the area there, which begins with what ended processes left.
  await other.databases.list({})
  assert.deepEqual(await databaseStates(beside), ["creating"])

  await beside.clock.advance(2 * LEASE_MS)
  await eventually("it is removed", async () => (await databaseStates(beside)).length === 0)
})
