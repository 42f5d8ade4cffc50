/** Whose the templates are that every new database is a copy of: the platform's, and no other user's of the machine. */
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { statSync } from "node:fs"
import { mkdir, readdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { test } from "node:test"
import { chooseAccount } from "../../../../kernel/db/embedded/account.ts"
import { giveTree } from "../../../../kernel/db/embedded/ownership.ts"
import { isRoot } from "../../../../testing/process.ts"
import { openLocalEngine } from "./driver.ts"
import { newEngineDir } from "./testing/engine.ts"

const credentials = { owner: "owner-password", reader: "reader-password" }

const ownersIn = async (folder: string): Promise<readonly number[]> => {
  const names = ["", ...(await readdir(folder, { recursive: true }))]
  return [...new Set(names.map(name => statSync(join(folder, name)).uid))]
}

test("a template is the platform's own, so that no user of the machine changes what new databases are", {
  skip: !isRoot && "it takes root",
}, async t => {
  const dataDir = await newEngineDir(t)
  // As whom initdb runs, which refuses to run as root.
  const system = chooseAccount({ dataDir, cluster: join(dataDir, "postgres") }) ?? assert.fail("no user")
  const templatesDir = join(dataDir, "databases", "templates")
  const template = join(templatesDir, "18.2")
  const makeDatabase = async () => {
    await using engine = await openLocalEngine({ dataDir, log: () => undefined })
    const volume = { id: randomUUID(), pgVersion: 18, tier: "isolated" } as const
    await engine.create(volume, credentials)
    await engine.wake(volume)
  }
  const isClosed = async () => {
    assert.deepEqual(await ownersIn(templatesDir), [0])
    const data = join(template, "data")
    const { uid, gid } = system
    assert.equal(spawnSync("cat", [join(data, "PG_VERSION")]).stdout.toString(), "18\n")
    for (const script of ['cat "$1/PG_VERSION"', 'echo x >>"$1/pg_hba.conf"', 'touch "$1/new"'])
      assert.notEqual(spawnSync("sh", ["-c", script, "sh", data], { uid, gid }).status, 0, script)
    const secret = join(templatesDir, "admin.secret")
    assert.equal(statSync(secret).mode & 0o777, 0o600)
  }
  await makeDatabase()
  await isClosed()

  await t.test("also one that an earlier version left to the system's user", async () => {
    const earlier = join(templatesDir, "17")
    await mkdir(join(earlier, "data"), { recursive: true })
    await writeFile(join(earlier, "data", "PG_VERSION"), "17\n")
    for (const folder of [template, earlier]) giveTree(folder, system)
    await makeDatabase()
    await isClosed()
  })
})
