/** Nobody but the platform gets into the control database: not another service of the machine, not who finds its socket. */
import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { chownSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type TestContext, test } from "node:test"
import pg from "pg"
import { PASSWORD_FILE } from "./password.ts"
import { type EmbeddedPostgres, type EmbeddedPostgresOptions, startEmbeddedPostgres } from "./start.ts"
import { atEnd, credentialsOf, isRoot, nobody, query, temporaryDir } from "./testing/directories.ts"

const rootOnly = { skip: isRoot ? false : "needs root" }

const start = async (t: TestContext, options: Partial<EmbeddedPostgresOptions> & { dataDir: string }) => {
  const server = await startEmbeddedPostgres({ durable: false, log: () => {}, ...options })
  atEnd(t, () => server.stop())
  return server
}

/** What `psql -h DATA/run -U svc` does. */
const login = async ({ socketDir }: EmbeddedPostgres, user: string, password: string) => {
  const client = new pg.Client({ host: socketDir, user, password, database: "svc", ssl: false })
  try {
    await client.connect()
  } finally {
    await client.end()
  }
}

const demandsItsPassword = async (server: EmbeddedPostgres) => {
  for (const password of ["", "svc", "postgres"])
    await assert.rejects(login(server, "svc", password), /password|28P01/i)
  const [answer] = await query(server.connectionString, "SELECT current_user::text AS name")
  assert.deepEqual(answer, { name: "svc" })
}

const ownersIn = (directory: string): string =>
  execFileSync("find", [directory, "-printf", "%U\n"], { encoding: "utf8" })
    .split("\n")
    .filter((uid, at, all) => uid !== "" && all.indexOf(uid) === at)
    .join()

const isNamed = (uid: number): boolean =>
  readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .some(line => Number(line.split(":")[2]) === uid)

/** As an earlier version left it: it ran as `user`, and trusted who reached its socket. */
const makeEarlier = async (t: TestContext, dataDir: string, runAs: string | undefined) => {
  const server = await start(t, { dataDir, runAs })
  await query(server.connectionString, "CREATE TABLE kept AS SELECT 7 AS value")
  await query(server.connectionString, "ALTER ROLE svc PASSWORD NULL")
  await server.stop()
  const rules = join(dataDir, "postgres/pg_hba.conf")
  const { uid, gid } = statSync(rules)
  writeFileSync(rules, "local all all trust\nlocal replication all trust\n")
  chownSync(rules, uid, gid)
  rmSync(join(dataDir, PASSWORD_FILE))
}

test("the server has a password that lies with the other secrets, readable by its owner alone", async t => {
  const dataDir = temporaryDir(t)
  const server = await start(t, { dataDir })
  await demandsItsPassword(server)
  assert.equal(statSync(join(dataDir, PASSWORD_FILE)).mode & 0o777, 0o600)
  assert.equal(statSync(join(dataDir, PASSWORD_FILE)).uid, process.getuid?.())
  assert.equal(statSync(server.socketDir).mode & 0o777, 0o700)
  await server.stop()
  const again = await start(t, { dataDir })
  assert.equal(again.connectionString, server.connectionString)
  await demandsItsPassword(again)
})

test(
  "started by root, the server has a user that no other service and no other data folder has",
  rootOnly,
  async t => {
    const uids: number[] = []
    for (let n = 0; n < 2; n += 1) {
      const dataDir = temporaryDir(t)
      const server = await start(t, { dataDir })
      const { uid, gid, groups } = credentialsOf(server.pid)
      assert.deepEqual([gid, groups, isNamed(uid)], [uid, "", false])
      for (const directory of [join(dataDir, "postgres"), server.socketDir]) {
        assert.equal(ownersIn(directory), String(uid))
        assert.equal(statSync(directory).mode & 0o777, 0o700)
      }
      uids.push(uid)
    }
    assert.notEqual(uids[0], uids[1])
  },
)

test("a control database of an earlier version, the system's user's and without a password, is taken over", async t => {
  const dataDir = temporaryDir(t)
  await makeEarlier(t, dataDir, isRoot ? "nobody" : undefined)
  const server = await start(t, { dataDir })
  assert.deepEqual(await query(server.connectionString, "SELECT value FROM kept"), [{ value: 7 }])
  await demandsItsPassword(server)
  if (isRoot) {
    const { uid } = credentialsOf(server.pid)
    assert.ok(!isNamed(uid))
    assert.equal(ownersIn(join(dataDir, "postgres")), String(uid))
  }
  await server.stop()
  const again = await start(t, { dataDir })
  assert.deepEqual(await query(again.connectionString, "SELECT value FROM kept"), [{ value: 7 }])
})

test("a data folder of an ordinary user keeps its user, and gets the password", rootOnly, async t => {
  const dataDir = temporaryDir(t, { uid: nobody.uid })
  await makeEarlier(t, dataDir, undefined)
  const server = await start(t, { dataDir })
  assert.equal(credentialsOf(server.pid).uid, nobody.uid)
  await demandsItsPassword(server)
})

test("a start that was cut off while it took over is finished by the next", async t => {
  const dataDir = temporaryDir(t)
  await makeEarlier(t, dataDir, isRoot ? "nobody" : undefined)
  writeFileSync(join(dataDir, PASSWORD_FILE), "made-but-not-set\n", { mode: 0o600 })
  await demandsItsPassword(await start(t, { dataDir }))
})

test("a lost password is set anew, and one of another database is named as such", async t => {
  const dataDir = temporaryDir(t)
  const first = await start(t, { dataDir })
  await first.stop()
  writeFileSync(join(dataDir, PASSWORD_FILE), "another's\n")
  await assert.rejects(start(t, { dataDir }), {
    name: "StartupError",
    message: /another password than control.secret/,
  })
  rmSync(join(dataDir, PASSWORD_FILE))
  await demandsItsPassword(await start(t, { dataDir }))
})
