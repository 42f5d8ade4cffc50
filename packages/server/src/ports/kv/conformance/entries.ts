/** Promises about one entry: what it holds, when it may be written, how long it lives. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { VALUE_BYTES_MAX } from "../bounds.ts"
import type { KvWrite } from "../port.ts"
import { fill, inByteOrder, listAll, MINUTE, NOW, type OpenKv, rejectsAs, text } from "./fixture.ts"

export const valueTests = (open: OpenKv): void => {
  test("a value comes back as it was written, and no value is undefined", async t => {
    const kv = await open(t)
    const owner = randomUUID()
    assert.equal(await kv.get(owner, "a", NOW), undefined)
    const { version } = await kv.set(owner, "a", text(`{"n":1}`), NOW)
    assert.deepEqual(await kv.get(owner, "a", NOW), { value: `{"n":1}`, version, expiresAt: null })
  })

  test("keys and values hold any Unicode, null characters included", async t => {
    const kv = await open(t)
    const owner = randomUUID()
    const keys = [
      "\0",
      "a\0b",
      "a\0",
      "a",
      "é",
      "日本語",
      "😀",
      "\u{10ffff}",
      "\ufeff",
      " ",
      "{x}",
      "a b 1 2",
    ]
    await fill(kv, owner, keys)
    await kv.set(owner, "raw", text("\0 1 2 \u{1f600}\ufffd"), NOW)
    for (const key of keys) assert.equal((await kv.get(owner, key, NOW))?.value, JSON.stringify(key))
    assert.equal((await kv.get(owner, "raw", NOW))?.value, "\0 1 2 \u{1f600}\ufffd")
    assert.deepEqual(await listAll(kv, owner, "*"), inByteOrder([...keys, "raw"]))
  })

  test("a key of 1 KiB and a value of 1.5 MiB fit, and one byte more is refused", async t => {
    const kv = await open(t)
    const owner = randomUUID()
    const key = "é".repeat(512)
    const value = JSON.stringify("é".repeat(VALUE_BYTES_MAX / 2 - 1))
    await kv.set(owner, key, text(value), NOW)
    assert.equal((await kv.get(owner, key, NOW))?.value, value)
    assert.deepEqual(await listAll(kv, owner, "*"), [key])
    await rejectsAs("refused", () => kv.set(owner, "v", text(`${value}1`), NOW))
    await rejectsAs("refused", () => kv.set(owner, `${key}k`, text("1"), NOW))
  })

  test("what cannot be a key, an owner or an expiry is refused, and writes nothing", async t => {
    const kv = await open(t)
    const owner = randomUUID()
    for (const key of ["", "\ud800", "a\udc00b"]) {
      await rejectsAs("refused", () => kv.get(owner, key, NOW))
      await rejectsAs("refused", () => kv.set(owner, key, text("1"), NOW))
      await rejectsAs("refused", () =>
        kv.batch(
          owner,
          [
            { op: "set", key: "ok", write: text("1") },
            { op: "get", key },
          ],
          NOW,
        ),
      )
    }
    for (const bad of ["", "*", "../x", owner.toUpperCase(), `${owner}:`]) {
      await rejectsAs("refused", () => kv.get(bad, "a", NOW))
      await rejectsAs("refused", () => kv.erase(bad))
    }
    await rejectsAs("refused", () => kv.set(owner, "a", text("1", { expiresAt: 1.5 }), NOW))
    assert.deepEqual(await kv.usage(owner), { keys: 0, bytes: 0 })
  })
}

export const conditionTests = (open: OpenKv): void => {
  test("a condition that does not hold writes nothing and tells the state that stays", async t => {
    const kv = await open(t)
    const owner = randomUUID()
    const set = (onlyIf: NonNullable<KvWrite["onlyIf"]>) => kv.set(owner, "a", text("2", { onlyIf }), NOW)
    const nothing = { stored: false, version: null, expiresAt: null }
    assert.deepEqual(await set({ present: true }), nothing)
    assert.deepEqual(await set({ version: 1 }), nothing)
    const { version } = await kv.set(owner, "a", text("1", { expiresAt: NOW + MINUTE }), NOW)
    const kept = { stored: false, version, expiresAt: NOW + MINUTE }
    assert.deepEqual(await set({ absent: true }), kept)
    assert.deepEqual(await set({ version: (version ?? 0) + 1 }), kept)
    assert.deepEqual(await set({ present: true, absent: true }), kept)
    assert.equal((await kv.get(owner, "a", NOW))?.value, "1")
    assert.equal((await set({ present: true, version: version ?? 0, absent: false })).stored, true)
    assert.equal((await kv.get(owner, "a", NOW))?.value, "2")
  })

  test("of a hundred who race for an absent key, one wins", async t => {
    const kv = await open(t)
    const owner = randomUUID()
    const race = Array.from({ length: 100 }, (_, n) =>
      kv.set(owner, "a", text(`${n}`, { onlyIf: { absent: true } }), NOW),
    )
    const won = (await Promise.all(race)).map(({ stored }) => stored)
    assert.equal(won.filter(Boolean).length, 1)
    assert.equal((await kv.get(owner, "a", NOW))?.value, `${won.indexOf(true)}`)
  })

  test("of a hundred who race on one version, one wins", async t => {
    const kv = await open(t)
    const owner = randomUUID()
    const { version } = await kv.set(owner, "a", text("0"), NOW)
    const write = (n: number) => text(`${n}`, { onlyIf: { version: version ?? 0 } })
    const won = await Promise.all(Array.from({ length: 100 }, (_, n) => kv.set(owner, "a", write(n), NOW)))
    assert.equal(won.filter(({ stored }) => stored).length, 1)
  })

  test("a version is never given twice to a key, whatever happens to it in between", async t => {
    const kv = await open(t)
    const owner = randomUUID()
    const versions: number[] = []
    const set = async (rest: Partial<KvWrite> = {}, now = NOW) => {
      versions.push((await kv.set(owner, "a", text("1", rest), now)).version ?? 0)
    }
    await set()
    await set()
    await kv.delete(owner, ["a"], NOW)
    await set({ expiresAt: NOW + 1 })
    await set({}, NOW + 1)
    await set({ expiresAt: NOW + 2 }, NOW + 1)
    await kv.sweep(NOW + 2, 10)
    await kv.batch(
      owner,
      [
        { op: "set", key: "a", write: text("1") },
        { op: "delete", key: "a" },
      ],
      NOW,
    )
    await set()
    assert.deepEqual(
      versions,
      [...new Set(versions)].sort((a, b) => a - b),
    )
    assert.ok((versions.at(-1) ?? 0) > (versions.at(-2) ?? 0) + 1, "the batch took a version too")
  })
}

export const timeTests = (open: OpenKv): void => {
  test("an entry is there until its expiry and gone for every reader at that millisecond", async t => {
    const kv = await open(t)
    const owner = randomUUID()
    const expiresAt = NOW + MINUTE
    await kv.set(owner, "a", text("1", { expiresAt }), NOW)
    const page = { pattern: "*", limit: 10, cursor: null }
    assert.equal((await kv.get(owner, "a", expiresAt - 1))?.expiresAt, expiresAt)
    assert.equal(await kv.exists(owner, ["a"], expiresAt - 1), 1)
    assert.deepEqual((await kv.list(owner, page, expiresAt - 1)).keys, ["a"])
    assert.equal(await kv.get(owner, "a", expiresAt), undefined)
    assert.equal(await kv.exists(owner, ["a"], expiresAt), 0)
    assert.deepEqual((await kv.list(owner, page, expiresAt)).keys, [])
    assert.deepEqual((await kv.batch(owner, [{ op: "get", key: "a" }], expiresAt)).results, [
      { op: "get", entry: undefined },
    ])
    assert.equal(
      (await kv.set(owner, "a", text("2", { onlyIf: { present: true } }), expiresAt)).stored,
      false,
    )
    assert.equal(await kv.delete(owner, ["a"], expiresAt), 0)
    assert.equal((await kv.set(owner, "a", text("2", { onlyIf: { absent: true } }), expiresAt)).stored, true)
  })

  test("keepTtl keeps the expiry of what is there, and every other write replaces it", async t => {
    const kv = await open(t)
    const owner = randomUUID()
    const set = async (rest: Partial<KvWrite>, now = NOW) =>
      (await kv.set(owner, "a", text("1", rest), now)).expiresAt
    assert.equal(await set({ keepTtl: true, expiresAt: NOW + 1 }), NOW + 1)
    assert.equal(await set({ keepTtl: true, expiresAt: NOW + 9 }), NOW + 1)
    assert.equal(await set({ keepTtl: true }, NOW + 1), null)
    assert.equal(await set({ keepTtl: true, expiresAt: NOW + 9 }), null)
    assert.equal(await set({ expiresAt: NOW + MINUTE }), NOW + MINUTE)
    assert.equal(await set({}), null)
    assert.notEqual(await kv.get(owner, "a", NOW + 2 * MINUTE), undefined)
  })

  test("a sweep gives back what has expired, at most its limit, and nothing else", async t => {
    const kv = await open(t)
    const owners = [randomUUID(), randomUUID()]
    for (const owner of owners) {
      await fill(kv, owner, ["stays"])
      await kv.set(owner, "later", text("1", { expiresAt: NOW + MINUTE + 1 }), NOW)
      await kv.set(owner, "moved", text("1", { expiresAt: NOW + 1 }), NOW)
      await kv.set(owner, "moved", text("1"), NOW)
      for (const key of ["x", "y", "z"]) await kv.set(owner, key, text("1", { expiresAt: NOW + MINUTE }), NOW)
    }
    assert.equal(await kv.sweep(NOW + MINUTE - 1, 100), 0)
    assert.equal(await kv.sweep(NOW + MINUTE, 4), 4)
    assert.equal(await kv.sweep(NOW + MINUTE, 100), 2)
    assert.equal(await kv.sweep(NOW + MINUTE, 100), 0)
    for (const owner of owners) assert.equal((await kv.usage(owner)).keys, 3)
    assert.equal(await kv.sweep(NOW + MINUTE + 1, 100), 2)
    for (const owner of owners) assert.deepEqual(await listAll(kv, owner, "*"), ["moved", "stays"])
  })
}
