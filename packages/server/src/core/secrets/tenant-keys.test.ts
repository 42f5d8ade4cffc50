import assert from "node:assert/strict"
import { test } from "node:test"
import { PortError } from "../../ports/port-error.ts"
import { openLocalSecrets } from "../../ports/secrets/drivers/local/driver.ts"
import type { SecretsPort } from "../../ports/secrets/port.ts"
import { eventually } from "../../testing/eventually.ts"
import { erase, type KeysProcess, keysWorld, MASTER_KEY, OTHER, rotate, TENANT } from "./testing/keys.ts"

const rowsOf = ({ database }: KeysProcess, tenantId = TENANT) =>
  database.db
    .selectFrom("encryption.keys")
    .selectAll()
    .where("tenant_id", "=", tenantId)
    .orderBy("version")
    .execute()

const seal = async ({ tenantKeys }: KeysProcess, tenantId = TENANT) => {
  const sealing = await tenantKeys.forSealing(tenantId, "data")
  assert.ok(sealing)
  return sealing
}

const setReserved = ({ database }: KeysProcess, uses_reserved: number) =>
  database.db.updateTable("encryption.keys").set({ uses_reserved }).where("tenant_id", "=", TENANT).execute()

/** A secrets engine that can be switched off. */
const switchable = () => {
  const local = openLocalSecrets({ masterKey: MASTER_KEY })
  const state = { on: true }
  const whenOn = <Result>(act: () => Promise<Result>): Promise<Result> =>
    state.on ? act() : Promise.reject(new PortError("unavailable", "it is off"))
  const secrets: SecretsPort = {
    ...local,
    wrap: (key, context) => whenOn(() => local.wrap(key, context)),
    unwrap: (wrapped, context) => whenOn(() => local.unwrap(wrapped, context)),
  }
  return { secrets, state }
}

test("of fifty first uses at once in three processes one key comes out, and all use it", async t => {
  const world = await keysWorld(t)
  const processes = [await world.process(), await world.process(), await world.process()]

  const sealings = await Promise.all(
    Array.from({ length: 50 }, (_, n) => processes[n % 3]).map(one => one && seal(one)),
  )

  const [first] = sealings
  assert.ok(first)
  for (const sealing of sealings) {
    assert.equal(sealing?.version, 1)
    assert.ok(sealing?.key.equals(first.key))
  }
  const rows = await rowsOf(processes[0] as KeysProcess)
  assert.deepEqual(
    rows.map(({ version, state }) => [version, state]),
    [[1, "active"]],
  )
  for (const { asked } of processes) assert.ok(asked.engine <= 2, "a process wraps once and unwraps once")
})

test("a key in use costs no query and no call to the secrets engine", async t => {
  const world = await keysWorld(t)
  await seal(await world.process())
  // News of a first key, which may be late, come to those alone who listened when it was made.
  const one = await world.process()
  await seal(one)
  const before = { ...one.asked }

  for (let use = 0; use < 2_000; use++) {
    await seal(one)
    await one.tenantKeys.forOpening(TENANT, "data", 1)
    await one.tenantKeys.forOpening(TENANT, "platform", 1)
  }

  assert.deepEqual(one.asked, before)
})

test("keys differ by tenant, by version and by purpose", async t => {
  const one = await (await keysWorld(t)).process()
  const first = await seal(one)
  const platform = await one.tenantKeys.forSealing(TENANT, "platform")
  const other = await seal(one, OTHER)
  await rotate(one, TENANT)
  const second = await seal(one)
  const keys = [first, platform, other, second].map(sealing => sealing?.key.export().toString("hex"))
  assert.equal(new Set(keys).size, 4)
})

test("a use is on record before it is made, and those of a process that died are not given out again", async t => {
  const world = await keysWorld(t)
  for (const processes of [1, 2, 3]) {
    await seal(await world.process())
    const [row] = await rowsOf(await world.process())
    assert.equal(row?.uses_reserved, processes * 2 ** 16)
  }
})

test("a key that was used a quarter of the times that are safe is rotated by itself, and but once", async t => {
  const world = await keysWorld(t)
  const [one, two] = [await world.process(), await world.process()]
  await seal(one)
  await setReserved(one, 2 ** 30)
  const later = await world.process()

  const sealings = await Promise.all(Array.from({ length: 20 }, (_, n) => seal(n % 2 ? later : two)))

  assert.ok(sealings.every(({ version }) => version === 1 || version === 2))
  assert.equal((await seal(later)).version, 2)
  assert.equal((await rowsOf(one)).length, 2)
})

test("when it cannot be rotated a key goes on, but never past the uses that are safe", async t => {
  const world = await keysWorld(t)
  await seal(await world.process())
  const { secrets, state } = switchable()
  const one = await world.process(secrets)
  await one.tenantKeys.forOpening(TENANT, "data", 1)
  state.on = false

  await setReserved(one, 2 ** 32 - 2 ** 16)
  assert.equal((await seal(one)).version, 1)
  assert.equal((await rowsOf(one))[0]?.uses_reserved, 2 ** 32)
  const late = await world.process()
  await setReserved(late, 2 ** 32)
  assert.equal(await late.tenantKeys.forSealing(TENANT, "data", 1), undefined)
})

test("a process knows at once of a version that another has just made", async t => {
  const world = await keysWorld(t)
  const [one, two] = [await world.process(), await world.process()]
  await seal(two)
  for (let version = 2; version <= 20; version++) {
    await rotate(one, TENANT)
    const { key } = await seal(one)
    const opening = await two.tenantKeys.forOpening(TENANT, "data", version)
    assert.ok(opening?.equals(key), `version ${version}`)
  }
})

test("rotations at once by several processes leave versions without a gap, and each caller a new one", async t => {
  const world = await keysWorld(t)
  const processes = [await world.process(), await world.process(), await world.process()]
  for (const one of processes) await seal(one)

  const rotations = await Promise.all(
    Array.from({ length: 12 }, (_, n) => rotate(processes[n % 3] as KeysProcess, TENANT)),
  )

  const versions = (await rowsOf(processes[0] as KeysProcess)).map(({ version }) => version)
  assert.deepEqual(
    versions,
    Array.from(versions, (_, at) => at + 1),
  )
  for (const { version, previous } of rotations) assert.ok(version > 1 && previous === version - 1)
  assert.equal(versions.length, Math.max(...rotations.map(({ version }) => version)))
})

test("an erased tenant has no key in the database nor in any process, and never gets one again", async t => {
  const world = await keysWorld(t)
  const [one, two] = [await world.process(), await world.process()]
  const sealed = await one.box.seal(TENANT, "a", "text")
  assert.equal(await two.box.open(TENANT, "a", sealed), "text")
  await rotate(one, TENANT)
  const other = await seal(one, OTHER)

  await erase(one, TENANT)

  for (const row of await rowsOf(one)) assert.deepEqual([row.state, row.wrapped_key], ["destroyed", null])
  await assert.rejects(one.box.open(TENANT, "a", sealed))
  await eventually(
    "the news of another process arrive",
    async () => (await two.tenantKeys.forOpening(TENANT, "platform", 1)) === undefined,
  )
  for (const process of [one, two, await world.process()]) {
    await assert.rejects(process.box.open(TENANT, "a", sealed))
    await assert.rejects(process.tenantKeys.forSealing(TENANT, "data"), { code: "organization_not_found" })
    await assert.rejects(rotate(process, TENANT), { code: "organization_not_found" })
  }
  assert.ok((await seal(two, OTHER)).key.equals(other.key))
})

test("a tenant that was erased before its first use never gets a key", async t => {
  const one = await (await keysWorld(t)).process()
  await erase(one, TENANT)
  await assert.rejects(one.tenantKeys.forSealing(TENANT, "data"), { code: "organization_not_found" })
  assert.deepEqual(
    (await rowsOf(one)).map(({ state }) => state),
    ["destroyed"],
  )
})

test("an erasure and rotations at once leave no key behind", async t => {
  const world = await keysWorld(t)
  const [one, two] = [await world.process(), await world.process()]
  await seal(one)
  const rotating = Promise.allSettled(Array.from({ length: 10 }, () => rotate(two, TENANT)))
  await erase(one, TENANT)
  await rotating
  for (const { state } of await rowsOf(one)) assert.equal(state, "destroyed")
})

test("while the secrets engine is away keys in use go on working, and others wait for it", async t => {
  const { secrets, state } = switchable()
  const world = await keysWorld(t)
  await seal(await world.process(), OTHER)
  const one = await world.process(secrets)
  const { key } = await seal(one)
  state.on = false

  assert.ok((await seal(one)).key.equals(key))
  assert.ok((await one.tenantKeys.forOpening(TENANT, "data", 1))?.equals(key))
  for (const act of [() => seal(one, OTHER), () => one.tenantKeys.forOpening(OTHER, "data", 1)])
    await assert.rejects(act, { code: "service_unavailable" })

  state.on = true
  assert.equal((await seal(one, OTHER)).version, 1)
})

test("wraps of an older key of the engine are renewed, all of them, and open as before", async t => {
  const world = await keysWorld(t)
  const one = await world.process()
  const tenants = Array.from(
    { length: 250 },
    (_, n) => `0190a5c2-7d3e-7c41-9b0a-${String(n).padStart(12, "0")}`,
  )
  const keys = new Map<string, Buffer>()
  for (const tenant of tenants) keys.set(tenant, (await seal(one, tenant)).key.export())
  const local = openLocalSecrets({ masterKey: MASTER_KEY })
  const NEW = "new:"
  const renewing = await world.process({
    ...local,
    wrap: async (key, context) => NEW + (await local.wrap(key, context)),
    unwrap: (wrapped, context) => local.unwrap(wrapped.replace(/^new:/, ""), context),
    health: async () => ({ ok: true, generation: NEW }),
  })
  const [broken = ""] = tenants
  await one.database.db
    .updateTable("encryption.keys")
    .set({ wrapped_key: "svc:wrap1:AAAA" })
    .where("tenant_id", "=", broken)
    .execute()

  await assert.rejects(renewing.tenantKeys.renewWraps(), { message: "1 keys" })

  for (const tenant of tenants.slice(1)) {
    const [row] = await rowsOf(one, tenant)
    assert.ok(row?.wrapped_key?.startsWith(NEW))
    const key = await renewing.tenantKeys.forOpening(tenant, "data", 1)
    assert.deepEqual(key?.export(), keys.get(tenant))
  }
})
