import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { sql } from "kysely"
import { refused } from "../../core/accounts/testing/people.ts"
import { storageWorld } from "./testing/world.ts"

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

interface Asked {
  readonly prefix: string
  readonly delimiter: string | undefined
  readonly startAfter: string
}

/** Keys and common prefixes as S3 describes them: all keys, one after the other. */
const naive = (keys: readonly string[], { prefix, delimiter, startAfter }: Asked): string[] => {
  const entries = [...keys]
    .sort(byBytes)
    .filter(key => key.startsWith(prefix) && (startAfter === "" || byBytes(key, startAfter) > 0))
    .map(key => {
      const at = delimiter === undefined ? -1 : key.indexOf(delimiter, prefix.length)
      return at < 0 ? `key ${key}` : `prefix ${key.slice(0, at + (delimiter?.length ?? 0))}`
    })
  return [...new Set(entries)].filter(entry => entry !== `prefix ${startAfter}`)
}

test("a list has the entries of a naive one, in byte order, however it is cut into pages", async t => {
  const { svc, bucket, put } = await storageWorld(t)
  // Characters around those where the orders of bytes, of UTF-16 and of languages differ.
  const letters = ["a", "b", "B", "/", "//", "-", "ä", "\ud7ff", "\ue000", "\uffff", "😀", "\u{10ffff}", "é"]
  const path = fc
    .array(fc.constantFrom(...letters), { minLength: 1, maxLength: 4 })
    .map(parts => parts.join(""))
  const keys = [...new Set(fc.sample(path, { numRuns: 150, seed: 7 }))]
  for (const key of keys) await put(key, "")

  const listAll = async ({ prefix, delimiter, startAfter }: Asked, limit: number): Promise<string[]> => {
    const entries: string[] = []
    for (let cursor: string | undefined; ; ) {
      const page = await svc.storage.listObjects({
        ...{ bucket, limit, prefix },
        ...(delimiter !== undefined && { delimiter }),
        ...(startAfter !== "" && { start_after: startAfter }),
        ...(cursor !== undefined && { cursor }),
      })
      assert.ok(page.data.length + page.delimited_prefixes.length <= limit)
      const found = [
        ...page.data.map(({ key }) => [key, `key ${key}`] as const),
        ...page.delimited_prefixes.map(name => [name, `prefix ${name}`] as const),
      ].sort(([a], [b]) => byBytes(a, b))
      entries.push(...found.map(([, entry]) => entry))
      if (page.cursor === null) return entries
      cursor = page.cursor
    }
  }
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        prefix: fc.oneof(fc.constant(""), fc.constantFrom(...letters), path),
        delimiter: fc.constantFrom(undefined, "/", "ä", "a", "//", "😀", "\ud7ff"),
        startAfter: fc.oneof(
          fc.constant(""),
          path,
          path.map(text => `${text}/`),
        ),
      }),
      fc.constantFrom(1, 3, 1000),
      async (asked, limit) => assert.deepEqual(await listAll(asked, limit), naive(keys, asked)),
    ),
    { numRuns: 60, seed: 3 },
  )
})

test("a page has a hundred entries unless asked otherwise, and a cursor that was made up is refused", async t => {
  const { svc, bucket, put } = await storageWorld(t)
  for (let n = 0; n < 101; n++) await put(`key ${n}`, "")
  const page = await svc.storage.listObjects({ bucket })
  assert.deepEqual([page.data.length, page.limit, page.is_truncated], [100, 100, true])
  for (const cursor of ["!", "AA", "_"])
    await refused(svc.storage.listObjects({ bucket, cursor }), "invalid_parameter")
  await refused(svc.storage.listObjects({ bucket, limit: 1001 }), "validation_failed")
  await refused(svc.storage.listObjects({ bucket, delimiter: "\u{10ffff}" }), "invalid_parameter")
})

test("a list looks at its entries and not at all keys", async t => {
  const { p, svc, bucket, put } = await storageWorld(t)
  const { db } = p.database
  await put("seed", "")
  await sql`
    INSERT INTO storage.objects
    SELECT bucket_id, 'folder-' || n % 20 || '/' || to_char(n, 'FM0000000'), project_id, size, etag, last_modified,
      http, metadata, checksums, checksum_type, part_count, addresses, sizes
    FROM storage.objects, generate_series(1, 60000) AS n`.execute(db)
  /** Index entries read by one call. */
  const read = async (input: Record<string, unknown>) => {
    const count = async () => {
      await sql`SELECT pg_stat_force_next_flush()`.execute(db)
      const { rows } = await sql<{ read: number }>`
        SELECT idx_tup_read AS read FROM pg_stat_user_indexes WHERE indexrelname = 'objects_pkey'`.execute(db)
      return rows[0]?.read ?? 0
    }
    const before = await count()
    const page = await svc.storage.listObjects({ bucket, ...input })
    // Counts of other connections arrive within a second at the latest; asking flushes our own alone.
    let after = await count()
    for (const deadline = Date.now() + 60_000; after === before && Date.now() < deadline; )
      after = await count()
    return { page, entries: after - before }
  }

  const folders = await read({ delimiter: "/", limit: 1000 })
  assert.equal(folders.page.delimited_prefixes.length, 20)
  assert.ok(folders.entries < 1500, `${folders.entries} read`)
})
