/** What lies on disk where SVC_ENCRYPT_AT_REST is on, and what is still read when that changes. */
import assert from "node:assert/strict"
import { chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import { sql } from "kysely"
import { cloneDatabase } from "../../testing/database.ts"
import { everyScope, platform, type TestPlatform } from "../../testing/platform.ts"

const NEEDLE = "needle-in-the-disk"
/** The payload of an asynchronous invocation is kept when that fails. */
const HANDLER = `export const handler = async event => {
  if (event.fails) throw new Error("it fails")
  return { event, needle: "${NEEDLE}" }
}`

const folderIn = async (t: TestContext): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-at-rest-"))
  // Database servers run as other users, and would be placed elsewhere, and left there, if these could not pass.
  await chmod(folder, 0o711)
  t.after(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Whether any file of the folder has the text. */
const isOnDisk = async (folder: string, text: string): Promise<boolean> => {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile() && (await readFile(join(entry.parentPath, entry.name))).includes(text)) return true
  }
  return false
}

const cells = async (p: TestPlatform, column: string, table: string): Promise<readonly Buffer[]> => {
  const { rows } = await sql<{ cell: Buffer | string | null }>`
    SELECT ${sql.ref(column)} AS cell FROM ${sql.table(table)}`.execute(p.database.db)
  return rows.flatMap(({ cell }) => (cell === null ? [] : Buffer.from(cell as string)))
}

const columns = [
  ["pack", "functions.codes"],
  ["payload", "functions.payloads"],
  ["data", "deliveries.messages"],
  ["html", "email.messages"],
  ["text", "email.messages"],
  ["content", "email.attachments"],
] as const

/** Stores the needle everywhere, and gives what reads it again. */
const store = async (p: TestPlatform, secret: string) => {
  const svc = p.as(secret)
  await svc.kv.set({ key: "k", value: { text: NEEDLE } })
  const { id: topic_id } = await svc.events.createTopic({ name: "orders" })
  await svc.events.publish({ topic_id, event_type: "made", data: { text: NEEDLE } })
  const { id } = await svc.functions.create({ name: "f", runtime: "nodejs", code: HANDLER })
  const sent = await svc.email.sendRaw({
    ...{ to: ["a@example.com"], subject: "s", html: `<p>${NEEDLE}</p>`, text: NEEDLE },
    attachments: [{ filename: "a.txt", content: Buffer.from(NEEDLE).toString("base64") }],
  })
  return { functionId: id, mailId: sent.id }
}

const check = async (
  p: TestPlatform,
  secret: string,
  { functionId, mailId }: Awaited<ReturnType<typeof store>>,
) => {
  const svc = p.as(secret)
  assert.deepEqual((await svc.kv.get({ key: "k" })).value, { text: NEEDLE })
  const answer = await svc.functions.invoke({ id: functionId, payload: { n: 1 } })
  assert.deepEqual(answer.status === "queued" ? undefined : answer.result, {
    event: { n: 1 },
    needle: NEEDLE,
  })
  assert.equal((await svc.email.getMessage({ id: mailId })).text, NEEDLE)
}

test("what tenants store is on disk under their key alone, and is read whichever way it was stored", async t => {
  const dataDir = await folderIn(t)
  await using database = await cloneDatabase()
  const start = (encrypts: "on" | "off") =>
    platform(t, {
      databaseUrl: database.url,
      env: { SVC_DATA_DIR: dataDir, SVC_ENCRYPT_AT_REST: encrypts },
    })
  let secret = ""
  let stored: Awaited<ReturnType<typeof store>>
  {
    await using p = await start("on")
    secret = (await p.key("acme", everyScope)).secret
    stored = await store(p, secret)
    const queued = await p
      .as(secret)
      .functions.invoke({ id: stored.functionId, payload: { fails: NEEDLE }, mode: "async" })
    assert.equal(queued.status, "queued")
    for (const [column, table] of columns) {
      const found = await cells(p, column, table)
      assert.ok(found.length > 0, table)
      for (const cell of found)
        assert.match(cell.toString("latin1", 0, 12), /^svc:box2:v1:/, `${table}.${column}`)
    }
    assert.equal(await isOnDisk(join(dataDir, "kv"), NEEDLE), false)
    await check(p, secret, stored)
  }
  {
    await using p = await start("off")
    await check(p, secret, stored)
    await p.as(secret).kv.set({ key: "k", value: { text: NEEDLE } })
    assert.equal(await isOnDisk(join(dataDir, "kv"), NEEDLE), true)
  }
  await using p = await start("on")
  await check(p, secret, stored)
  await p.as(secret).kv.set({ key: "k", value: { text: NEEDLE }, if_version: 2 })
  await check(p, secret, stored)
})

test("nothing that an organization stored is read again when its keys are gone", async t => {
  const p = await platform(t, { env: { SVC_ENCRYPT_AT_REST: "on" } })
  const { organizationId } = await p.tenant("acme")
  const { secret } = await p.key("acme", everyScope)
  await store(p, secret)
  await (await p.person("acme")).organizations.delete({ org_id: organizationId })
  const keys = await p.database.db
    .selectFrom("encryption.keys")
    .select("wrapped_key")
    .where("tenant_id", "=", organizationId)
    .execute()
  assert.ok(keys.length > 0 && keys.every(({ wrapped_key }) => wrapped_key === null))
})

test("a value that looks like an encrypted one comes back as it was, with encryption off too", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...everyScope)
  const text = "svc:box2:v1:AAAA"
  await svc.kv.set({ key: "k", value: text })
  assert.equal((await svc.kv.get({ key: "k" })).value, text)
  const { id } = await svc.email.sendRaw({ to: ["a@example.com"], subject: "s", text })
  assert.equal((await svc.email.getMessage({ id })).text, text)
})
