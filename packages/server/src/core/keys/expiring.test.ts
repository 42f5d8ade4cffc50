import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import { newId } from "../../kernel/id.ts"
import { platform } from "../../testing/platform.ts"
import { createPlatformEvents } from "../platform-events/platform-events.ts"
import { expiringKeys } from "./expiring.ts"

const DAY_MS = 86_400_000

test("a key's end is announced a week before, once, unless the key was rotated or revoked, however many end", async t => {
  const p = await platform(t)
  const { db } = p.database
  let nowMs = p.clock.now()
  const told: unknown[] = []
  const platformEvents = createPlatformEvents(() => nowMs)
  platformEvents.listen({
    wants: (_organizationId, type) => type === "key.expiring",
    receive: async (_db, events) => void told.push(...events.map(({ data }) => data.key_id)),
  })
  const { run } = expiringKeys({ database: p.database, platformEvents, now: () => nowMs })
  const sweepOn = async (day: number) => {
    nowMs = p.clock.now() + day * DAY_MS
    told.length = 0
    await run({ scheduledFor: new Date(nowMs) }, { signal: new AbortController().signal })
    return [...told]
  }
  const ending = async (days: number | null, options = {}) => {
    const expires_at = days === null ? null : new Date(p.clock.now() + days * DAY_MS)
    return (await p.key("acme", ["kv:read"], { expires_at, ...options })).id
  }
  const now = new Date(p.clock.now())
  const [first, second] = [await ending(8), await ending(10)]
  await ending(null)
  await ending(8, { revoked_at: now })
  await ending(8, { grace_expires_at: now })

  assert.deepEqual(await sweepOn(0), [])
  assert.deepEqual(await sweepOn(1), [first])
  assert.deepEqual(await sweepOn(2), [])
  assert.deepEqual(await sweepOn(4), [second])
  assert.deepEqual(await sweepOn(20), [])

  const key = await db
    .selectFrom("core.api_keys")
    .selectAll()
    .where("id", "=", first)
    .executeTakeFirstOrThrow()
  const expires_at = new Date(p.clock.now() + 30 * DAY_MS)
  const many = Array.from({ length: 1_200 }, () => ({
    ...{ ...key, id: newId(), secret_hash: randomBytes(32), expires_at },
  }))
  await db.insertInto("core.api_keys").values(many).execute()
  const all = await sweepOn(25)
  assert.deepEqual(new Set(all), new Set(many.map(({ id }) => id)))
  assert.equal(all.length, 1_200)
})
