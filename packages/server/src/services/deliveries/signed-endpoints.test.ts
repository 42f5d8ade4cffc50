import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { type WebhookRow, webhookStore } from "../../areas/webhooks/store.ts"
import { keysWorld, OTHER, TENANT } from "../../core/secrets/testing/keys.ts"
import { newId } from "../../kernel/id.ts"
import { eventually } from "../../testing/eventually.ts"
import { createSigningSecret } from "./signature.ts"
import { createSignedEndpoints } from "./signed-endpoints.ts"

const START_MS = Date.UTC(2026, 0, 1)
const MINUTE_MS = 60_000

/** Two processes over one database, with the rows of webhooks. */
const signedWorld = async (t: TestContext) => {
  const world = await keysWorld(t)
  const time = { ms: START_MS }
  const open = async () => {
    const { box, changes, database } = await world.process()
    const { db } = database
    const reads = { count: 0 }
    const endpoints = createSignedEndpoints<WebhookRow>({
      db,
      changes,
      box,
      now: () => time.ms,
      topic: "webhook",
      findActive(id) {
        reads.count++
        return webhookStore(db).findActive(id)
      },
      oldSecrets: (on, row) => webhookStore(on).oldSecrets(row),
      settingsOf: async ({ url }) => ({ target: { url } }),
    })
    return { endpoints, database, reads }
  }
  type Process = Awaited<ReturnType<typeof open>>

  const [one, other] = [await open(), await open()]
  const at = new Date(START_MS)
  await one.database.db
    .insertInto("core.organizations")
    .values({
      id: TENANT,
      name: "Signers",
      slug: "signers",
      plan: "free",
      requests_per_second: null,
      created_at: at,
      deleted_at: null,
    })
    .execute()
  const secret = createSigningSecret()
  const id = newId()
  const row: WebhookRow = {
    id,
    organization_id: TENANT,
    project_id: null,
    url: "https://example.com/",
    event_types: ["*"],
    description: "",
    active: true,
    disabled_at: null,
    disabled_reason: null,
    created_at: at,
    updated_at: at,
    ...(await one.endpoints.encrypt({ id, organization_id: TENANT }, secret)),
  }
  await webhookStore(one.database.db).insert(row)

  return {
    one,
    other,
    row,
    secret,
    time,
    secretsIn: async ({ endpoints }: Process) => (await endpoints.resolve([id])).get(id)?.secrets,
    /** As the operation does, in a transaction. */
    async rotate({ endpoints, database }: Process, graceSeconds: number) {
      const next = createSigningSecret()
      await database.transaction(async tx => {
        const before = await webhookStore(tx).find({ organizationId: TENANT, projectId: null }, id)
        assert.ok(before)
        const now = new Date(time.ms)
        const columns = await endpoints.rotate(tx, before, { secret: next, graceSeconds, now })
        await webhookStore(tx).update(TENANT, id, columns)
        await endpoints.invalidate(tx, id)
      })
      return next
    },
  }
}

test("a rotation in one process signs in all, with the secret before until its grace period is over", async t => {
  const { one, other, secret, time, secretsIn, rotate } = await signedWorld(t)
  assert.deepEqual(await secretsIn(other), [secret])

  const next = await rotate(one, 60)
  assert.deepEqual(await secretsIn(one), [next, secret])
  const inOther = await eventually(
    "the other process signs with both",
    () => secretsIn(other),
    secrets => secrets?.length === 2,
  )
  assert.deepEqual(inOther, [next, secret])

  // Nothing is announced when the time is over.
  time.ms += MINUTE_MS
  assert.deepEqual(await secretsIn(one), [next])
  assert.deepEqual(await secretsIn(other), [next])
})

test("a rotation without a grace period ends all earlier secrets", async t => {
  const { one, secretsIn, rotate } = await signedWorld(t)
  await rotate(one, 60)
  await rotate(one, 60)
  const last = await rotate(one, 0)
  assert.deepEqual(await secretsIn(one), [last])
})

test("ten earlier secrets sign at most; those whose time is over do not count", async t => {
  const { one, time, secretsIn, rotate } = await signedWorld(t)
  for (let count = 0; count < 10; count++) await rotate(one, 60)
  await assert.rejects(rotate(one, 60), { code: "invalid_parameter" })
  assert.equal((await secretsIn(one))?.length, 11)

  time.ms += MINUTE_MS
  await rotate(one, 60)
  assert.equal((await secretsIn(one))?.length, 2)
})

test("an endpoint is read once for many deliveries, and is gone when its row is switched off or deleted", async t => {
  const { one, row, secretsIn } = await signedWorld(t)
  const { endpoints, database, reads } = one
  for (let count = 0; count < 5; count++) await secretsIn(one)
  assert.equal(reads.count, 1)

  await database.transaction(async tx => {
    await webhookStore(tx).update(TENANT, row.id, { active: false })
    await endpoints.invalidate(tx, row.id)
  })
  assert.equal(await secretsIn(one), undefined)
  assert.equal(
    (await endpoints.endpointOf(database.db, row)).secrets.length,
    1,
    "a test is sent nevertheless",
  )
})

test("a secret decrypts for its own row and tenant alone, and its row has it encrypted", async t => {
  const { one, row, secret } = await signedWorld(t)
  assert.ok(!row.secret.includes(secret))
  assert.ok(secret.endsWith(row.secret_hint.slice(-4)))
  assert.equal(await one.endpoints.decrypt(row), secret)
  await assert.rejects(one.endpoints.decrypt({ ...row, id: newId() }), { name: "NotDecryptable" })
  await assert.rejects(one.endpoints.decrypt({ ...row, organization_id: OTHER }), { name: "NotDecryptable" })
})
