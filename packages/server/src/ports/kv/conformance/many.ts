/** Promises about many entries: whose they are, how they are listed, what happens to them at once. */
import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { test } from "node:test"
import { globMatcher } from "../glob.ts"
import { fill, inByteOrder, listAll, MINUTE, NOW, type OpenKv, rejectsAs, text } from "./fixture.ts"

export const ownerTests = (open: OpenKv): void => {
  test("an owner never sees, counts or changes another's keys", async t => {
    const kv = await open(t)
    const [mine, theirs] = [randomUUID(), randomUUID()]
    await kv.set(mine, "a", text("1"), NOW)
    assert.equal(await kv.get(theirs, "a", NOW), undefined)
    assert.equal(await kv.exists(theirs, ["a"], NOW), 0)
    assert.deepEqual(await listAll(kv, theirs, "*"), [])
    assert.equal(await kv.delete(theirs, ["a"], NOW), 0)
    assert.equal(await kv.erase(theirs), 0)
    assert.deepEqual(await kv.usage(theirs), { keys: 0, bytes: 0 })
    assert.equal((await kv.set(theirs, "a", text("2", { onlyIf: { absent: true } }), NOW)).stored, true)
    assert.equal((await kv.get(mine, "a", NOW))?.value, "1")
  })

  test("a forged cursor is refused or lists the owner's own keys", async t => {
    const kv = await open(t)
    const owners = Array.from({ length: 5 }, () => randomUUID())
    await Promise.all(owners.map(owner => fill(kv, owner, [`${owner}:1`, `${owner}:2`])))
    const [owner = ""] = owners
    const bytes = (hex: string) => Buffer.from(hex.replaceAll("-", ""), "hex")
    const forged = [
      ...owners.flatMap(other => [Buffer.from(other), bytes(other), Buffer.from(`svc:kv:{${other}}:keys`)]),
      ...[0, 1, 127, 128, 254, 255].flatMap(byte => [Buffer.of(byte), Buffer.alloc(1024, byte)]),
    ]
    for (const cursor of ["", ...forged.map(cursor => cursor.toString("base64url"))]) {
      for (const pattern of ["*", `${owner}*`, "zzz*"]) {
        const page = await kv.list(owner, { pattern, limit: 1000, cursor }, NOW)
        assert.ok(page.keys.every(key => key.startsWith(owner)))
      }
    }
    for (const cursor of ["*", "a=", "Zg==", "é", "A".repeat(1400)]) {
      await rejectsAs("refused", () => kv.list(owner, { pattern: "*", limit: 10, cursor }, NOW))
    }
  })

  test("usage follows every write, and erase leaves nothing", async t => {
    const kv = await open(t)
    const [owner, other] = [randomUUID(), randomUUID()]
    await kv.set(other, "kept", text("1"), NOW)
    await kv.set(owner, "é", text(`"é"`), NOW)
    assert.deepEqual(await kv.usage(owner), { keys: 1, bytes: 6 })
    await kv.set(owner, "é", text("1", { expiresAt: NOW + MINUTE }), NOW)
    await kv.set(owner, "b", text("22"), NOW)
    assert.deepEqual(await kv.usage(owner), { keys: 2, bytes: 6 })
    await kv.delete(owner, ["é", "absent"], NOW)
    assert.deepEqual(await kv.usage(owner), { keys: 1, bytes: 3 })
    await fill(
      kv,
      owner,
      Array.from({ length: 1500 }, (_, index) => `k${index}`),
    )
    assert.equal(await kv.erase(owner), 1501)
    assert.deepEqual(await kv.usage(owner), { keys: 0, bytes: 0 })
    assert.deepEqual(await listAll(kv, owner, "*"), [])
    assert.equal(await kv.get(owner, "b", NOW), undefined)
    assert.equal(await kv.sweep(NOW + 2 * MINUTE, 10), 0)
    assert.deepEqual(await listAll(kv, other, "*"), ["kept"])
  })
}

export const listTests = (open: OpenKv): void => {
  test("pages of a listing give every key once, in byte order", async t => {
    const kv = await open(t)
    const owner = randomUUID()
    // In UTF-16 order the last two would be the other way round.
    const keys = [...Array.from({ length: 2498 }, (_, index) => `key:${index}`), "\uffee", "\u{10000}"]
    await fill(kv, owner, keys)
    assert.deepEqual(await listAll(kv, owner, "*", 7 * 41), inByteOrder(keys))
    assert.deepEqual(
      await listAll(kv, owner, "key:24*", 10),
      inByteOrder(keys.filter(key => key.startsWith("key:24"))),
    )
    assert.deepEqual(await listAll(kv, owner, "*99", 3), inByteOrder(keys.filter(key => key.endsWith("99"))))
  })

  test("a listing takes exactly the keys that its pattern matches", async t => {
    const kv = await open(t)
    const owner = randomUUID()
    const keys = [
      "a*",
      "a?",
      "a[",
      "a\\",
      "ab",
      "abc",
      "b",
      "*",
      "[a]",
      "user:1",
      "user:10",
      "user:2",
      "usér",
      "\0",
    ]
    await fill(kv, owner, keys)
    const patterns = [
      "*",
      "a*",
      "a\\*",
      "a?",
      "a\\?",
      "a[[]",
      "a\\[",
      "a\\\\",
      "\\[a]",
      "[a]",
      "[^a]",
      "user:?",
      "user:[1-2]*",
    ]
    for (const pattern of [...patterns, "us?r", "u*r*1", "nothing*", "\0", ""]) {
      const expected = inByteOrder(keys.filter(globMatcher(pattern)))
      assert.deepEqual(await listAll(kv, owner, pattern), expected, `for ${JSON.stringify(pattern)}`)
    }
  })

  test("a page ends after a bounded search and is continued by its cursor", async t => {
    const kv = await open(t)
    const owner = randomUUID()
    const long = "k".repeat(1000)
    await fill(kv, owner, [
      ...Array.from({ length: 60 }, (_, index) => long + String(index).padStart(2, "0")),
      "z",
    ])
    const mean = `*${"k*".repeat(500)}59`
    const first = await kv.list(owner, { pattern: mean, limit: 10, cursor: null }, NOW)
    assert.deepEqual(first.keys, [])
    assert.notEqual(first.cursor, null)
    assert.deepEqual(await listAll(kv, owner, mean), [`${long}59`])
  })
}

export const boundTests = (open: OpenKv): void => {
  test("a page's limit and pattern have bounds", async t => {
    const kv = await open(t)
    const owner = randomUUID()
    for (const limit of [0, -1, 1.5, 1001, Number.NaN]) {
      await rejectsAs("refused", () => kv.list(owner, { pattern: "*", limit, cursor: null }, NOW))
    }
    await rejectsAs("refused", () =>
      kv.list(owner, { pattern: "*".repeat(1025), limit: 1, cursor: null }, NOW),
    )
  })

  test("many keys are counted and deleted at once, each of them once", async t => {
    const kv = await open(t)
    const owner = randomUUID()
    const keys = Array.from({ length: 999 }, (_, index) => `k${index}`)
    await fill(kv, owner, [...keys, "stays"])
    assert.equal(await kv.exists(owner, [...keys.slice(1), "absent", "k5"], NOW), 998)
    assert.equal(await kv.delete(owner, [...keys, "k0"], NOW), 999)
    assert.equal(await kv.delete(owner, keys, NOW), 0)
    assert.equal(await kv.delete(owner, [], NOW), 0)
    assert.equal(await kv.exists(owner, [], NOW), 0)
    assert.deepEqual(await listAll(kv, owner, "*"), ["stays"])
    await rejectsAs("refused", () => kv.delete(owner, [...keys, "a", "b"], NOW))
  })
}

export const batchTests = (open: OpenKv): void => {
  test("the operations of a batch see those before them and tell one result each", async t => {
    const kv = await open(t)
    const owner = randomUUID()
    const { version: first } = await kv.set(owner, "old", text("0"), NOW)
    const { committed, results } = await kv.batch(
      owner,
      [
        { op: "set", key: "a", write: text("1", { expiresAt: NOW + MINUTE, onlyIf: { absent: true } }) },
        { op: "get", key: "a" },
        { op: "set", key: "a", write: text("2", { keepTtl: true, onlyIf: { present: true } }) },
        { op: "get", key: "a" },
        { op: "delete", key: "old" },
        { op: "get", key: "old" },
        { op: "delete", key: "old" },
      ],
      NOW,
    )
    const [one, two] = [(first ?? 0) + 1, (first ?? 0) + 2]
    const expiresAt = NOW + MINUTE
    assert.equal(committed, true)
    assert.deepEqual(results, [
      { op: "set", written: { stored: true, version: one, expiresAt } },
      { op: "get", entry: { value: "1", version: one, expiresAt } },
      { op: "set", written: { stored: true, version: two, expiresAt } },
      { op: "get", entry: { value: "2", version: two, expiresAt } },
      { op: "delete", deleted: 1 },
      { op: "get", entry: undefined },
      { op: "delete", deleted: 0 },
    ])
    assert.deepEqual(await kv.get(owner, "a", NOW), { value: "2", version: two, expiresAt })
    assert.deepEqual(await kv.usage(owner), { keys: 1, bytes: 2 })
  })

  test("a batch with one condition that does not hold writes nothing and names it", async t => {
    const kv = await open(t)
    const owner = randomUUID()
    await fill(kv, owner, ["kept", "taken"])
    const outcome = await kv.batch(
      owner,
      [
        { op: "set", key: "new", write: text("1", { expiresAt: NOW + 1 }) },
        { op: "delete", key: "kept" },
        { op: "set", key: "taken", write: text("1", { onlyIf: { absent: true } }) },
        { op: "set", key: "after", write: text("1") },
      ],
      NOW,
    )
    assert.deepEqual(outcome, { committed: false, failedIndex: 2, results: [] })
    assert.deepEqual(await listAll(kv, owner, "*"), ["kept", "taken"])
    assert.equal((await kv.get(owner, "taken", NOW))?.value, `"taken"`)
    assert.equal(await kv.sweep(NOW + 1, 10), 0)
    assert.equal((await kv.usage(owner)).keys, 2)
  })
}

export const raceTests = (open: OpenKv): void => {
  test("batches that move amounts at the same time lose none", async t => {
    const kv = await open(t)
    const owner = randomUUID()
    const accounts = ["a", "b", "c"]
    await Promise.all(accounts.map(key => kv.set(owner, key, text("100"), NOW)))
    const move = async (from: string, to: string): Promise<void> => {
      for (;;) {
        const [source, target] = [await kv.get(owner, from, NOW), await kv.get(owner, to, NOW)]
        if (!source || !target) throw new Error("an account is gone")
        const { committed } = await kv.batch(
          owner,
          [
            {
              op: "set",
              key: from,
              write: text(`${Number(source.value) - 1}`, { onlyIf: { version: source.version } }),
            },
            {
              op: "set",
              key: to,
              write: text(`${Number(target.value) + 1}`, { onlyIf: { version: target.version } }),
            },
          ],
          NOW,
        )
        if (committed) return
      }
    }
    const moves: [from: string, to: string][] = [
      ["a", "b"],
      ["b", "c"],
      ["c", "a"],
      ["a", "c"],
    ]
    await Promise.all(
      Array.from({ length: 5 }, () => moves)
        .flat()
        .map(([from, to]) => move(from, to)),
    )
    const amounts = await Promise.all(
      accounts.map(async key => Number((await kv.get(owner, key, NOW))?.value)),
    )
    assert.deepEqual(amounts, [95, 100, 105])
  })
}
