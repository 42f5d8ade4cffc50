/** What retrieval refuses, and what happens where its files cannot be stored. */
import assert from "node:assert/strict"
import { rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { RAG_DOCUMENTS_MAX, RAG_FILE_BYTES_MAX } from "@svc/contract"
import { sql } from "kysely"
import { platform } from "../../testing/platform.ts"
import { uploadBytes } from "./testing/world.ts"

test("a file that is too large is refused", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "ai:infer")
  const bytes = new Uint8Array(RAG_FILE_BYTES_MAX + 1).fill(97)
  await assert.rejects(uploadBytes(acme, "long.txt", bytes), { code: "payload_too_large" })
})

test("a project has so many documents and no more", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "ai:infer")
  const { organizationId, projectId } = await p.tenant("acme")
  await acme.rag.status({})
  await sql`
    INSERT INTO ai_rag.documents (organization_id, project_id, id, name, content_type, format, size, sha256, status,
      chunks, tokens, metadata, created_at, updated_at)
    SELECT ${organizationId}, ${projectId}, gen_random_uuid(), 'n', 'text/plain', 'txt', 1, sha256(i::text::bytea), 'ready',
      0, 0, '{}', now(), now() FROM generate_series(1, ${RAG_DOCUMENTS_MAX}) AS i`.execute(p.database.db)
  await assert.rejects(uploadBytes(acme, "one-more.txt", "one more"), { code: "plan_limit_reached" })
})

test("where files cannot be stored an upload is 503, and works again once they can", async t => {
  const p = await platform(t)
  const acme = await p.client("acme", "ai:infer")
  await uploadBytes(acme, "before.txt", "before")
  const blobs = join(p.config.dataDir, "blobs")
  await rename(blobs, `${blobs}.away`)
  await writeFile(blobs, "")
  await assert.rejects(uploadBytes(acme, "during.txt", "during"), { code: "service_unavailable" })
  await rename(`${blobs}`, `${blobs}.file`)
  await rename(`${blobs}.away`, blobs)
  assert.equal((await uploadBytes(acme, "during.txt", "during")).name, "during.txt")
})

test("a plan's requests of a day hold for queries too", async t => {
  const p = await platform(t)
  await p.tenant("acme", "free")
  const acme = await p.client("acme", "ai:infer")
  await uploadBytes(acme, "a.txt", "Apples are red.")
  await acme.rag.query({ query: "apples" })
  await p.database.db.updateTable("ai.accounts").set({ day_requests: 500 }).execute()
  await assert.rejects(acme.rag.query({ query: "apples" }), { code: "ai_daily_limit_exceeded" })
})
