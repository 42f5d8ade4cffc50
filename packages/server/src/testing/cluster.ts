/** A bare PostgreSQL as the local engine sets one up, for tests of what runs inside a database. */
import { chmod, chown, cp, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestContext } from "node:test"
import pg from "pg"
import { chooseAccount, spawnAs } from "../kernel/db/embedded/account.ts"
import { programOf } from "../kernel/db/embedded/binaries.ts"
import { ADMIN_ROLE, asAdmin } from "../ports/engine/drivers/local/admin.ts"
import { startServerProcess } from "../ports/engine/drivers/local/server-process.ts"
import { instanceSettings } from "../ports/engine/drivers/local/settings.ts"
import { createTemplates } from "../ports/engine/drivers/local/template.ts"
import { createVersions } from "../ports/engine/drivers/local/versions.ts"
import {
  DATABASE_NAME,
  OWNER_ROLE,
  OWNER_SESSION_ROLE,
  type PgVersion,
  READER_ROLE,
} from "../ports/engine/port.ts"

const PASSWORD = "only-in-tests"

export interface TestCluster {
  readonly version: PgVersion
  readonly socketDir: string
  readonly password: string
  /** A pool logged in as that role (`owner`, `svc_reader`, `svc_admin`), closed with the test. */
  pool(role: string, options?: pg.PoolConfig): pg.Pool
}

/** Starts a fresh instance of the version, with database `app` and the roles of the engine. Ends with the test. */
export const startCluster = async (
  t: Pick<TestContext, "after">,
  version: PgVersion,
): Promise<TestCluster> => {
  const root = await mkdtemp(join(tmpdir(), "svc-pg-"))
  const account = chooseAccount({ dataDir: root, cluster: join(root, "none") })
  await chmod(root, 0o711)
  const templatesDir = process.env.SVC_TEST_TEMPLATES ?? root
  const log = () => undefined
  const versions = createVersions({ folders: {}, account, stagingDir: account ? "/var/lib/svc" : root, log })
  const socketDirOf = (of: PgVersion) => join(root, `s${of}`)
  const templates = await createTemplates({
    templatesDir,
    account,
    programs: versions.programs,
    socketDirOf,
    log,
  })
  const dataDir = join(root, "data")
  await cp(await templates.dataDir(version), dataDir, { recursive: true })
  const socketDir = await mkdtemp(join(root, "s"))
  if (account) {
    await chown(socketDir, account.uid, account.gid)
    const { execFileSync } = await import("node:child_process")
    execFileSync("chown", ["-R", `${account.uid}:${account.gid}`, dataDir])
  }
  await chmod(dataDir, 0o700)
  const args = [
    "-D",
    dataDir,
    ...["-c", "synchronous_standby_names="],
    ...instanceSettings({ version, tier: "shared", socketDir }).flatMap(s => ["-c", s]),
  ]
  const server = await startServerProcess(
    { command: programOf(await versions.programs(version), "postgres"), args, options: spawnAs(account) },
    { log },
  )
  const pools: pg.Pool[] = []
  t.after(async () => {
    await Promise.allSettled(pools.map(pool => pool.end()))
    await server.stop()
    await rm(root, { recursive: true, force: true })
  })
  await asAdmin({ socketDir, password: templates.adminPassword }, async client => {
    for (const role of [OWNER_ROLE, OWNER_SESSION_ROLE, READER_ROLE])
      await client.query(`ALTER ROLE ${role} PASSWORD '${PASSWORD}'`)
  })
  return {
    version,
    socketDir,
    password: PASSWORD,
    pool(role, options = {}) {
      const password = role === ADMIN_ROLE ? templates.adminPassword : PASSWORD
      const pool = new pg.Pool({
        host: socketDir,
        port: 5432,
        database: DATABASE_NAME,
        user: role,
        password,
        ...options,
      })
      pool.on("error", () => undefined)
      pools.push(pool)
      return pool
    },
  }
}
