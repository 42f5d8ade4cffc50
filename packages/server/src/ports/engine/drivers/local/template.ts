import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import { chmod, chown, link, mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { type Account, spawnAs } from "../../../../kernel/db/embedded/account.ts"
import { type Binaries, programOf } from "../../../../kernel/db/embedded/binaries.ts"
import { giveTree } from "../../../../kernel/db/embedded/ownership.ts"
import { CHILD_ENVIRONMENT } from "../../../../kernel/db/embedded/processes.ts"
import { PortError } from "../../../port-error.ts"
import { databaseSetup, ownerSetup, platformRoles } from "../../furnishing.ts"
import { DATABASE_NAME, OWNER_ROLE, type PgVersion } from "../../port.ts"
import { ADMIN_ROLE, type AdminPlace, asAdmin } from "./admin.ts"
import { syncFileSystem } from "./copy.ts"
import { startServerProcess } from "./server-process.ts"
import { ARCHIVER_NAME, instanceSettings } from "./settings.ts"

/** Data directories that new volumes are copies of, one a version, made when the first volume of it is. */
export interface Templates {
  /** The data directory; nothing ever runs on it again. */
  dataDir(version: PgVersion): Promise<string>
  /** That of the template by which an image is named, which an earlier version of the platform may have made. */
  imageDir(version: PgVersion, name: string): string
  /** The superuser's password in every copy. */
  readonly adminPassword: string
}

const INITDB_TIMEOUT_MS = 60_000
/** Small segments: a database at rest keeps at least one, and an archive that is cut off early wastes less. */
export const WAL_SEGMENT_MB = 1

const HBA = `local all all scram-sha-256\nlocal replication ${ADMIN_ROLE} scram-sha-256\n`

/** Counts what templates hold: a volume's history may begin with the template that it was copied from, so that stays. */
const REVISION = 2
/** How an image is named that is a template, and not one of the volume's own; the first revision has no number. */
const TEMPLATE_BASE = "template"
export const TEMPLATE_IMAGE = `${TEMPLATE_BASE}.${REVISION}`
export const isTemplate = (name: string): boolean => name.split(".")[0] === TEMPLATE_BASE

const roleSetup = [`CREATE ROLE ${OWNER_ROLE} LOGIN`, ...ownerSetup, ...platformRoles]

/** The objects of the platform are in template1 by then. */
const setup = [
  `CREATE DATABASE ${DATABASE_NAME} OWNER ${OWNER_ROLE}`,
  // Last, or the statements before would wait for an archiver that is not there yet.
  `ALTER SYSTEM SET synchronous_standby_names = '${ARCHIVER_NAME}'`,
]

const secretOf = async (templatesDir: string): Promise<string> => {
  const path = join(templatesDir, "admin.secret")
  const known = await readFile(path, "utf8").catch(() => undefined)
  if (known !== undefined) return known
  // Linked into place whole: of two processes that start at once, one makes it and both read the same.
  const draft = `${path}.${process.pid}`
  await writeFile(draft, randomBytes(24).toString("base64url"), { mode: 0o600, flush: true })
  await link(draft, path).catch(() => undefined)
  await rm(draft)
  return await readFile(path, "utf8")
}

/** Copies are made by us; the system's user as whom initdb runs could change what every new database is. */
const ourselves = (): Account => ({
  name: "root",
  uid: process.getuid?.() ?? -1,
  gid: process.getgid?.() ?? -1,
})

/** Earlier versions left templates to that user. */
const reclaim = async (templatesDir: string): Promise<void> => {
  for (const name of await readdir(templatesDir)) {
    // Other files may be another process's own, and gone by now.
    if (!/^\d+(?:\.\d+)?$/.test(name)) continue
    const path = join(templatesDir, name)
    const { uid } = await stat(path)
    if (uid !== process.getuid?.()) giveTree(path, ourselves())
  }
}

interface TemplateNeeds {
  readonly templatesDir: string
  readonly programs: (version: PgVersion) => Promise<Binaries>
  /** As whom initdb runs. */
  readonly account: Account | undefined
  /** Where the server's socket is while the template is made. */
  readonly socketDirOf: (version: PgVersion) => string
  readonly log: (line: string) => void
}

/**
 * As C.UTF-8 of later versions, which has PostgreSQL's own tables: texts sort by code point, without any library of the
 * host that could change an index's order; upper and lower case of all scripts are the host's, where it has C.UTF-8.
 */
const initialize16 = async (
  initdb: (locale: readonly string[]) => Promise<unknown>,
  log: (line: string) => void,
) => {
  try {
    await initdb(["--lc-collate=C", "--lc-ctype=C.UTF-8", "--lc-messages=C"])
  } catch (error) {
    if (!/invalid locale/.test(String(error))) throw error
    log("this host has no locale C.UTF-8: PostgreSQL 16 knows upper and lower case of ASCII alone")
    await initdb(["--no-locale"])
  }
}

const initialize = async (
  version: PgVersion,
  folder: string,
  adminPassword: string,
  { programs, account, log, socketDirOf }: TemplateNeeds,
): Promise<void> => {
  const binaries = await programs(version)
  const socketDir = socketDirOf(version)
  const dataDir = join(folder, "data")
  const passwordFile = join(folder, "password")
  await writeFile(passwordFile, adminPassword, { mode: 0o600 })
  if (account) for (const path of [folder, passwordFile]) await chown(path, account.uid, account.gid)
  const initdb = (locale: readonly string[]) =>
    promisify(execFile)(
      programOf(binaries, "initdb"),
      [
        ...["--pgdata", dataDir, "--username", ADMIN_ROLE, "--pwfile", passwordFile, "--auth=scram-sha-256"],
        ...["--encoding=UTF8", ...locale, "--data-checksums", `--wal-segsize=${WAL_SEGMENT_MB}`, "--no-sync"],
        "--no-instructions",
      ],
      { ...spawnAs(account), env: CHILD_ENVIRONMENT, cwd: "/", timeout: INITDB_TIMEOUT_MS },
    )
  if (version === 16) await initialize16(initdb, log)
  else await initdb(["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"])
  await rm(passwordFile)
  await writeFile(join(dataDir, "pg_hba.conf"), HBA)

  await mkdir(socketDir, { recursive: true, mode: 0o700 })
  if (account) await chown(socketDir, account.uid, account.gid)
  const settings = instanceSettings({ version, tier: "shared", socketDir })
  const args = ["-D", dataDir, ...settings.flatMap(setting => ["-c", setting])]
  const server = await startServerProcess(
    { command: programOf(binaries, "postgres"), args, options: spawnAs(account) },
    { log },
  )
  try {
    const at = { socketDir, password: adminPassword }
    const run = (place: AdminPlace, statements: readonly string[]) =>
      asAdmin(place, async client => {
        for (const statement of statements) await client.query(statement)
      })
    await run(at, roleSetup)
    await run({ ...at, tenant: { database: "template1", version } }, databaseSetup)
    await run(at, setup)
  } finally {
    await server.stop()
    await rm(socketDir, { recursive: true, force: true })
  }
}

export const createTemplates = async (needs: TemplateNeeds): Promise<Templates> => {
  const { templatesDir, account } = needs
  const adminPassword = await secretOf(templatesDir)
  if (account) await reclaim(templatesDir)
  const made = new Map<PgVersion, Promise<string>>()

  /** A template has its name only once it is whole and on disk. */
  const make = async (version: PgVersion): Promise<string> => {
    const folder = join(templatesDir, `${version}.${REVISION}`)
    const dataDir = join(folder, "data")
    if (existsSync(dataDir)) return dataDir
    const draft = `${folder}.making-${process.pid}`
    await rm(draft, { recursive: true, force: true })
    await mkdir(draft, { mode: 0o700 })
    try {
      await initialize(version, draft, adminPassword, needs)
      if (account) giveTree(draft, ourselves())
      await syncFileSystem(draft)
      await rename(draft, folder)
    } catch (error) {
      await rm(draft, { recursive: true, force: true })
      // Another process was quicker, and its template is as good.
      if (!existsSync(dataDir))
        throw error instanceof PortError
          ? error
          : new PortError("unavailable", `the template of PostgreSQL ${version} cannot be made`, error)
    }
    if (account) await chmod(dirname(dataDir), 0o700)
    return dataDir
  }

  return {
    adminPassword,
    imageDir(version, name) {
      const revision = name.slice(`${TEMPLATE_BASE}.`.length)
      return join(templatesDir, revision === "" ? `${version}` : `${version}.${revision}`, "data")
    },
    async dataDir(version) {
      const known = made.get(version) ?? make(version)
      made.set(version, known)
      known.catch(() => made.delete(version))
      return known
    },
  }
}
