/** What decides whether an entry is there and whether a write happens: time, conditions, and the batch it is part of. */
import assert from "node:assert/strict"
import { test } from "node:test"
import {
  ABSENT,
  type Open,
  onEveryDriver,
  post,
  READ_AND_WRITE,
  refusedAs,
  SECOND,
} from "./testing/drivers.ts"

const expiry = (open: Open): void => {
  test("an entry is gone for everybody at its time, to the millisecond", async t => {
    const p = await open(t)
    const acme = await p.client("acme", ...READ_AND_WRITE)
    const written = await acme.kv.set({ key: "a", value: 1, ttl_seconds: 10 })
    assert.equal(written.expires_at, new Date(p.clock.now() + 10 * SECOND).toISOString())
    const ttl = async () => (await acme.kv.get({ key: "a" })).ttl_seconds

    assert.equal(await ttl(), 10)
    await p.clock.advance(1)
    assert.equal(await ttl(), 10)
    await p.clock.advance(999)
    assert.equal(await ttl(), 9)
    await p.clock.advance(9 * SECOND - 1)
    assert.equal(await ttl(), 1)
    assert.deepEqual((await acme.kv.keys()).keys, ["a"])

    await p.clock.advance(1)
    assert.deepEqual(await acme.kv.get({ key: "a" }), ABSENT)
    assert.deepEqual(await acme.kv.exists({ key: "a" }), { exists: false })
    assert.deepEqual((await acme.kv.keys()).keys, [])
    assert.deepEqual(await acme.kv.del({ key: "a" }), { deleted: 0 })
    assert.equal((await acme.kv.set({ key: "a", value: 2, xx: true })).ok, false)
    assert.equal((await acme.kv.set({ key: "a", value: 2, nx: true })).ok, true)
  })

  test("ttl means ttl_seconds, and only one of them may be sent", async t => {
    const p = await open(t)
    const { secret } = await p.key("acme", READ_AND_WRITE)
    await post(p, secret, "/v1/kv/set", '{"key":"a","value":1,"ttl":60}')
    assert.equal((await p.as(secret).kv.get({ key: "a" })).ttl_seconds, 60)
    const both = await post(p, secret, "/v1/kv/set", '{"key":"a","value":1,"ttl":60,"ttl_seconds":60}')
    assert.equal(both.status, 400)
    for (const ttl of ["0", "-1", "1.5", '"60"', "null", "1e12"]) {
      const refused = await post(p, secret, "/v1/kv/set", `{"key":"a","value":1,"ttl_seconds":${ttl}}`)
      assert.equal(refused.status, 400, ttl)
    }
  })

  test("a write ends the expiry unless it keeps it, and keep_ttl has the new one where there was no entry", async t => {
    const p = await open(t)
    const acme = await p.client("acme", ...READ_AND_WRITE)
    const first = await acme.kv.set({ key: "a", value: 1, ttl_seconds: 10 })
    await p.clock.advance(4 * SECOND)
    const kept = await acme.kv.set({ key: "a", value: 2, keep_ttl: true, ttl_seconds: 99 })
    assert.equal(kept.expires_at, first.expires_at)
    assert.deepEqual(await acme.kv.get({ key: "a" }), { value: 2, version: 2, ttl_seconds: 6 })
    assert.equal((await acme.kv.set({ key: "a", value: 3 })).expires_at, null)
    await p.clock.advance(20 * SECOND)
    assert.equal((await acme.kv.get({ key: "a" })).value, 3)
    await acme.kv.set({ key: "b", value: 1, keep_ttl: true, ttl_seconds: 5 })
    assert.equal((await acme.kv.get({ key: "b" })).ttl_seconds, 5)
  })
}

const conditions = (open: Open): void => {
  test("nx, xx and if_version write only where they hold, and tell what stays", async t => {
    const p = await open(t)
    const { kv } = await p.client("acme", ...READ_AND_WRITE)
    const nothing = { ok: false, version: null, expires_at: null }
    assert.deepEqual(await kv.set({ key: "a", value: 0, xx: true }), nothing)
    assert.deepEqual(await kv.set({ key: "a", value: 0, if_version: 1 }), nothing)
    const { version } = await kv.set({ key: "a", value: 1, nx: true })
    const stays = { ok: false, version, expires_at: null }
    assert.deepEqual(await kv.set({ key: "a", value: 0, nx: true }), stays)
    assert.deepEqual(await kv.set({ key: "a", value: 0, if_version: Number(version) + 1 }), stays)
    assert.equal((await kv.get({ key: "a" })).value, 1)
    assert.equal((await kv.set({ key: "a", value: 2, xx: true, if_version: Number(version) })).ok, true)
    assert.equal((await kv.get({ key: "a" })).value, 2)
  })

  test("of a hundred clients that set an absent key at once one wins", async t => {
    const p = await open(t)
    const { kv } = await p.client("acme", ...READ_AND_WRITE)
    const attempts = Array.from({ length: 100 }, (_, value) => kv.set({ key: "lock", value, nx: true }))
    const winners = (await Promise.all(attempts)).flatMap(({ ok }, value) => (ok ? [value] : []))
    assert.deepEqual(winners, [(await kv.get({ key: "lock" })).value])
  })

  test("no increment is lost when writers name the version they read", async t => {
    const p = await open(t)
    const { kv } = await p.client("acme", ...READ_AND_WRITE)
    await kv.set({ key: "n", value: 0 })
    const increment = async () => {
      for (;;) {
        const { value, version } = await kv.get({ key: "n" })
        const next = { key: "n", value: Number(value) + 1, if_version: Number(version) }
        if ((await kv.set(next)).ok) return
      }
    }
    await Promise.all(Array.from({ length: 12 }, increment))
    assert.equal((await kv.get({ key: "n" })).value, 12)
  })

  test("a version is never used twice, not even after a delete or an expiry", async t => {
    const p = await open(t)
    const { kv } = await p.client("acme", ...READ_AND_WRITE)
    const versions: number[] = []
    const write = async (ttl_seconds?: number) => {
      const written = await kv.set({ key: "a", value: 1, ...(ttl_seconds && { ttl_seconds }) })
      versions.push(Number(written.version))
    }
    await write()
    await write()
    await kv.del({ key: "a" })
    await write(1)
    await p.clock.advance(60 * SECOND)
    await write()
    assert.deepEqual(
      versions,
      [...new Set(versions)].sort((a, b) => a - b),
    )
  })
}

const batches = (open: Open): void => {
  test("a batch reads its own writes and answers each operation", async t => {
    const p = await open(t)
    const { kv } = await p.client("acme", ...READ_AND_WRITE)
    const outcome = await kv.batch({
      ops: [
        { op: "set", key: "a", value: { n: 1 }, ttl_seconds: 60 },
        { op: "get", key: "a" },
        { op: "del", key: "a" },
        { op: "get", key: "a" },
      ],
    })
    const expires_at = new Date(p.clock.now() + 60 * SECOND).toISOString()
    assert.deepEqual(outcome, {
      committed: true,
      failed_index: null,
      results: [
        { ok: true, version: 1, expires_at },
        { value: { n: 1 }, version: 1, ttl_seconds: 60 },
        { deleted: 1 },
        ABSENT,
      ],
    })
  })

  test("a batch in which one condition fails changes nothing", async t => {
    const p = await open(t)
    const { kv } = await p.client("acme", ...READ_AND_WRITE)
    await kv.set({ key: "taken", value: "old" })
    const outcome = await kv.batch({
      ops: [
        { op: "set", key: "new", value: 1 },
        { op: "del", key: "taken" },
        { op: "set", key: "taken", value: 2, xx: true },
      ],
    })
    assert.deepEqual(outcome, { committed: false, failed_index: 2, results: [] })
    assert.deepEqual((await kv.keys()).keys, ["taken"])
    assert.equal((await kv.get({ key: "taken" })).value, "old")
    const tooMany = Array.from({ length: 101 }, (_, n) => ({ op: "get" as const, key: `${n}` }))
    await assert.rejects(kv.batch({ ops: tooMany }), refusedAs("validation_failed"))
  })
}

onEveryDriver(open => {
  expiry(open)
  conditions(open)
  batches(open)
})
