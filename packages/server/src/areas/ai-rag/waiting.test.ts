import assert from "node:assert/strict"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { sql } from "kysely"
import { platform, type TestPlatform } from "../../testing/platform.ts"
import { uploadBytes } from "./testing/world.ts"

const HOUR_MS = 3_600_000

const filesWith = async ({ config }: TestPlatform, text: string): Promise<number> => {
  const entries = await readdir(config.dataDir, { recursive: true, withFileTypes: true })
  const files = entries.filter(entry => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  const contents = await Promise.all(files.map(file => readFile(file)))
  return contents.filter(content => content.includes(text)).length
}

test("a file that waits to be read is not taken for an orphan of storage, however long it waits", async t => {
  const p = await platform(t)
  const { db } = p.database
  const svc = await p.client("acme", "ai:infer", "storage:write")
  // Storage is what removes orphans.
  await svc.storage.createBucket({ name: "files" })
  await sql`CREATE FUNCTION ai_rag.not_yet() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'not yet'; END $$`.execute(db)
  await sql`CREATE TRIGGER not_yet BEFORE UPDATE ON ai_rag.documents
    FOR EACH ROW EXECUTE FUNCTION ai_rag.not_yet()`.execute(db)

  const text = "What the file says that nobody has read."
  const { status } = await uploadBytes(svc, "note.txt", text)
  assert.equal(status, "queued")
  assert.equal(await filesWith(p, text), 1)
  await p.clock.advance(26 * HOUR_MS)
  assert.equal(await filesWith(p, text), 1)

  // Nothing names it any more.
  await db.deleteFrom("ai_rag.documents").execute()
  await p.clock.advance(26 * HOUR_MS)
  assert.equal(await filesWith(p, text), 0)
})
