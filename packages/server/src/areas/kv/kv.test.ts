/** What key-value storage promises to its callers, over every driver. What drivers promise is in the port's own suite. */
import assert from "node:assert/strict"
import { test } from "node:test"
import type { Svc } from "@svc/sdk"
import {
  ABSENT,
  type Open,
  onEveryDriver,
  post,
  READ_AND_WRITE,
  refusedAs,
  SECOND,
} from "./testing/drivers.ts"

const allPages = async (svc: Svc, pattern: string, limit: number): Promise<string[]> => {
  const keys: string[] = []
  let cursor: string | null = null
  do {
    const page: { keys: string[]; cursor: string | null } = await svc.kv.keys({ pattern, limit, cursor })
    assert.ok(page.keys.length <= limit)
    keys.push(...page.keys)
    cursor = page.cursor
  } while (cursor !== null)
  return keys
}

const tenancy = (open: Open): void => {
  test("a value is visible in its own project and in no other", async t => {
    const p = await open(t)
    const acme = await p.client("acme", ...READ_AND_WRITE)
    const globex = await p.client("globex", ...READ_AND_WRITE)

    await acme.kv.set({ key: "greeting", value: "hello" })

    assert.deepEqual(await acme.kv.get({ key: "greeting" }), {
      value: "hello",
      version: 1,
      ttl_seconds: null,
    })
    assert.deepEqual(await globex.kv.get({ key: "greeting" }), ABSENT)
    assert.deepEqual(await globex.kv.exists({ key: "greeting" }), { exists: false })
    assert.deepEqual(await globex.kv.keys(), { keys: [], cursor: null })
    assert.deepEqual(await globex.kv.del({ key: "greeting" }), { deleted: 0 })
    assert.equal((await acme.kv.get({ key: "greeting" })).value, "hello")
  })

  test("a key of the whole organization has a space beside its projects, and enters one by naming it", async t => {
    const p = await open(t)
    const { projectId } = await p.tenant("acme")
    const inProject = await p.client("acme", ...READ_AND_WRITE)
    const wide = p.as((await p.key("acme", READ_AND_WRITE, { project_id: null })).secret)
    const valueFor = async (svc: Svc, project?: string) =>
      (await svc.kv.get({ key: "who" }, { project })).value

    await inProject.kv.set({ key: "who", value: "project" })
    assert.equal(await valueFor(wide), null)
    await wide.kv.set({ key: "who", value: "organization" })
    assert.equal(await valueFor(wide), "organization")
    assert.equal(await valueFor(inProject), "project")

    assert.equal(await valueFor(wide, projectId), "project")
    await wide.kv.set({ key: "who", value: "both" }, { project: projectId })
    assert.equal(await valueFor(inProject), "both")

    const { projectId: foreign } = await p.tenant("globex")
    await assert.rejects(valueFor(wide, foreign), refusedAs("project_not_in_organization", 403))
  })

  test("a cursor of another tenant lists nothing of theirs, and a forged one is refused", async t => {
    const p = await open(t)
    const acme = await p.client("acme", ...READ_AND_WRITE)
    const globex = await p.client("globex", ...READ_AND_WRITE)
    for (const key of ["a", "b", "c"]) await acme.kv.set({ key, value: 1 })
    await globex.kv.set({ key: "b-of-globex", value: 1 })

    const { cursor } = await acme.kv.keys({ limit: 1 })
    assert.deepEqual((await globex.kv.keys({ cursor })).keys, ["b-of-globex"])

    for (const forged of ["not a cursor", "YQ==", "é", "A".repeat(3000)]) {
      await assert.rejects(acme.kv.keys({ cursor: forged }), refusedAs("invalid_parameter"))
    }
  })
}

const values = (open: Open): void => {
  test("every JSON value comes back as the text that JSON gives it, and replies are bare", async t => {
    const p = await open(t)
    const { secret } = await p.key("acme", READ_AND_WRITE)
    const texts = [
      ...["null", "0", '""', "false", "[]", "{}", "-1.5", "1e+300", "5e-324"],
      ...["9007199254740991", "-9007199254740991"],
      '{"__proto__":{"polluted":true},"constructor":null,"toString":1,"":{"":[]}}',
      '[null,[[]],{"a":[{"b":[1,2,{"c":null}]}]}]',
      '"zero \\u0000 and ünïcödé 🙂 \u2028"',
      '"half a \\ud83d pair"',
      `${"[".repeat(60)}${"]".repeat(60)}`,
    ]
    for (const [index, value] of texts.entries()) {
      const set = await post(p, secret, "/v1/kv/set", `{"key":"k","value":${value}}`)
      assert.equal(await set.text(), `{"ok":true,"version":${index + 1},"expires_at":null}`)
      const got = await post(p, secret, "/v1/kv/get", '{"key":"k"}')
      assert.equal(await got.text(), `{"value":${value},"version":${index + 1},"ttl_seconds":null}`)
    }
    assert.equal(Reflect.get({}, "polluted"), undefined)
  })

  test("keys hold any character, apart from each other", async t => {
    const p = await open(t)
    const acme = await p.client("acme", ...READ_AND_WRITE)
    const keys = [
      "\0",
      "a\0b",
      "a",
      " ",
      "\n",
      "ключ",
      "🙂",
      "__proto__",
      "a/b?c=d#e",
      "{x}",
      "%00",
      "e\u0301",
    ]
    for (const key of keys) await acme.kv.set({ key, value: `of ${key}` })
    for (const key of keys) assert.equal((await acme.kv.get({ key })).value, `of ${key}`)
    assert.deepEqual(new Set((await acme.kv.keys()).keys), new Set(keys))

    for (const key of ["\ud83d", "a\udc00b"]) {
      await assert.rejects(acme.kv.set({ key, value: 1 }), refusedAs("invalid_parameter"))
      await assert.rejects(acme.kv.keys({ pattern: key }), refusedAs("invalid_parameter"))
    }
    await assert.rejects(acme.kv.set({ key: "", value: 1 }), refusedAs("validation_failed"))
  })

  test("a key has at most 1,024 bytes and a value 1 MiB, counted in UTF-8", async t => {
    const p = await open(t)
    const acme = await p.client("acme", ...READ_AND_WRITE)
    const longest = `${"€".repeat(341)}k`
    const largest = `${"é".repeat(524_286)}vv`
    assert.equal(Buffer.byteLength(longest), 1024)
    assert.equal(Buffer.byteLength(JSON.stringify(largest)), 1024 * 1024)

    assert.equal((await acme.kv.set({ key: longest, value: largest })).ok, true)
    assert.equal((await acme.kv.get({ key: longest })).value, largest)
    assert.deepEqual((await acme.kv.keys({ pattern: longest })).keys, [longest])

    const tooLong = `${longest}k`
    for (const act of [
      acme.kv.set({ key: tooLong, value: 1 }),
      acme.kv.get({ key: tooLong }),
      acme.kv.exists({ key: tooLong }),
      acme.kv.del({ keys: ["a", tooLong] }),
      acme.kv.batch({ ops: [{ op: "get", key: tooLong }] }),
    ]) {
      await assert.rejects(act, refusedAs("kv_key_too_large"))
    }
    await assert.rejects(acme.kv.keys({ pattern: tooLong }), refusedAs("invalid_parameter"))

    const tooLarge = `${largest}v`
    await assert.rejects(acme.kv.set({ key: "a", value: tooLarge }), refusedAs("kv_value_too_large"))
    const ops = [
      { op: "set", key: "a", value: 1 },
      { op: "set", key: "b", value: tooLarge },
    ] as const
    await assert.rejects(acme.kv.batch({ ops: [...ops] }), refusedAs("kv_value_too_large"))
    assert.deepEqual(await acme.kv.get({ key: "a" }), ABSENT)
  })

  test("what is counted are entries read and written, not calls", async t => {
    const p = await open(t)
    const acme = await p.client("acme", ...READ_AND_WRITE)
    const { organizationId, projectId } = await p.tenant("acme")
    await acme.kv.set({ key: "a", value: 1 })
    await acme.kv.set({ key: "a", value: 2, nx: true })
    await acme.kv.del({ key: "a", keys: ["b", "c"] })
    await acme.kv.batch({
      ops: [
        { op: "set", key: "a", value: 1 },
        { op: "get", key: "a" },
      ],
    })
    await acme.kv.get({ key: "a" })
    await acme.kv.exists({ key: "a" })
    await acme.kv.keys()
    await assert.rejects(acme.kv.del({}), refusedAs("missing_parameter"))

    await p.clock.advance(SECOND)

    const counts = await p.database.db
      .selectFrom("core.usage")
      .select(["metric", "project_id", "quantity"])
      .where("organization_id", "=", organizationId)
      .where("metric", "in", ["kv_reads", "kv_writes"])
      .orderBy("metric")
      .execute()
    assert.deepEqual(counts, [
      { metric: "kv_reads", project_id: projectId, quantity: 3 },
      { metric: "kv_writes", project_id: projectId, quantity: 7 },
    ])
  })
}

const lists = (open: Open): void => {
  test("deleting tells how many keys held a value", async t => {
    const p = await open(t)
    const { kv } = await p.client("acme", ...READ_AND_WRITE)
    for (const key of ["a", "b", "c"]) await kv.set({ key, value: null })
    assert.deepEqual(await kv.del({ key: "a" }), { deleted: 1 })
    assert.deepEqual(await kv.del({ key: "a" }), { deleted: 0 })
    assert.deepEqual(await kv.del({ key: "b", keys: ["b", "c", "absent"] }), { deleted: 2 })
    await assert.rejects(kv.del({}), refusedAs("missing_parameter"))
    await assert.rejects(kv.del({ keys: [] }), refusedAs("validation_failed"))
    const keys = Array.from({ length: 1000 }, (_, n) => `${n}`)
    assert.deepEqual(await kv.del({ keys }), { deleted: 0 })
    await assert.rejects(kv.del({ key: "one more", keys }), refusedAs("too_many_keys"))
  })

  test("keys are listed by glob in byte order, page by page, each once", async t => {
    const p = await open(t)
    const svc = await p.client("acme", ...READ_AND_WRITE)
    const users = Array.from({ length: 25 }, (_, n) => `user:${String(n).padStart(2, "0")}`)
    const keys = [...users, "user*", "usér", "zebra", "🙂"]
    await svc.kv.batch({ ops: keys.map(key => ({ op: "set", key, value: 1 })) })

    assert.deepEqual(await allPages(svc, "user:*", 10), users)
    assert.deepEqual(await allPages(svc, "*", 7), ["user*", ...users, "usér", "zebra", "🙂"])
    assert.deepEqual(await allPages(svc, "user:[01][^0-8]", 1), ["user:09", "user:19"])
    assert.deepEqual(await allPages(svc, "us?r", 5), ["usér"])
    assert.deepEqual(await allPages(svc, "user\\*", 5), ["user*"])
    assert.deepEqual(await allPages(svc, "?", 5), ["🙂"])
    assert.deepEqual(await svc.kv.keys({ pattern: "nothing" }), { keys: [], cursor: null })
  })
}

onEveryDriver(open => {
  tenancy(open)
  values(open)
  lists(open)
})
