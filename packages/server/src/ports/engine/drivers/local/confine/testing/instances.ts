import { execFileSync } from "node:child_process"
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestContext } from "node:test"
import pg from "pg"
import { type Account, spawnAs } from "../../../../../../kernel/db/embedded/account.ts"
import { locateBinaries, prepareBinaries, programOf } from "../../../../../../kernel/db/embedded/binaries.ts"
import { CHILD_ENVIRONMENT } from "../../../../../../kernel/db/embedded/processes.ts"
import {
  atEnd,
  isRoot,
  nobody,
  temporaryDir,
} from "../../../../../../kernel/db/embedded/testing/directories.ts"
import type { PgVersion } from "../../../../port.ts"
import { type ServerProcess, startServerProcess } from "../../server-process.ts"
import type { Confinement } from "../detect.ts"

export const initdbAccount: Account | undefined = isRoot ? nobody : undefined

/** A platform's data directory with a secret that everybody could read, were it in sight. */
export interface Machine {
  readonly platformDir: string
  readonly secretFile: string
}

export const makeMachine = (t: TestContext): Machine => {
  // Not in a temporary directory, of which a server has its own: it must be hidden on its own account.
  const platformDir = mkdtempSync(join(isRoot ? "/var/lib" : tmpdir(), "svc-confined-"))
  chmodSync(platformDir, 0o711)
  atEnd(t, () => rmSync(platformDir, { recursive: true, force: true, maxRetries: 5 }))
  const secretFile = join(platformDir, "master.key")
  writeFileSync(secretFile, "the platform's master key", { mode: 0o644 })
  mkdirSync(join(platformDir, "volumes"))
  return { platformDir, secretFile }
}

export interface Instance {
  readonly slot: number
  readonly volumeDir: string
  readonly dataDir: string
  readonly socketDir: string
  readonly server: ServerProcess
  readonly args: readonly string[]
  /** A session of the superuser: what a tenant would have who broke out of his role. */
  readonly client: pg.Client
}

/** A data directory of a version, for copies, and the programs where every user reaches them. */
export const makeTemplate = async (t: TestContext, version: PgVersion) => {
  const binaries = await prepareBinaries(locateBinaries(process.platform, process.arch, version), {
    account: initdbAccount,
    stagingDir: temporaryDir(t),
    log: () => undefined,
  })
  const parent = temporaryDir(t)
  if (initdbAccount) chownSync(parent, initdbAccount.uid, initdbAccount.gid)
  const templateDir = join(parent, "template")
  execFileSync(
    programOf(binaries, "initdb"),
    [
      "--pgdata",
      templateDir,
      "--username=postgres",
      "--auth=trust",
      "--no-sync",
      "--no-locale",
      "-E",
      "UTF8",
    ],
    { ...spawnAs(initdbAccount), env: CHILD_ENVIRONMENT, cwd: "/" },
  )
  return { binaries, templateDir }
}

export type Template = Awaited<ReturnType<typeof makeTemplate>>

/** Makes what a start needs: a volume's directories, owned by its user. */
export const makeVolume = (
  t: TestContext,
  confinement: Confinement,
  machine: Machine,
  { binaries, templateDir }: Template,
  slot: number,
) => {
  const volumeDir = join(machine.platformDir, "volumes", String(slot))
  const dataDir = join(volumeDir, "data")
  mkdirSync(volumeDir, { mode: 0o700 })
  cpSync(templateDir, dataDir, { recursive: true })
  const socketDir = mkdtempSync(join(tmpdir(), "svc-confined-"))
  atEnd(t, () => rmSync(socketDir, { recursive: true, force: true }))
  const owner = confinement.ownerOf(slot)
  chmodSync(dataDir, 0o700)
  if (owner) execFileSync("chown", ["-R", `${owner.uid}:${owner.gid}`, volumeDir, socketDir])
  const settings = [
    "listen_addresses=",
    `unix_socket_directories="${socketDir}"`,
    "unix_socket_permissions=0700",
    "dynamic_shared_memory_type=mmap",
    "shared_buffers=16MB",
    "fsync=off",
    "jit=off",
    "log_min_messages=log",
  ]
  const args = ["-D", dataDir, ...settings.flatMap(setting => ["-c", setting])]
  const command = confinement.command(
    { slot, volumeDir, socketDir, programsDir: binaries.native },
    programOf(binaries, "postgres"),
    args,
  )
  return { slot, volumeDir, dataDir, socketDir, args, command }
}

export const connect = async (t: TestContext, socketDir: string): Promise<pg.Client> => {
  const client = new pg.Client({ host: socketDir, user: "postgres", database: "postgres" })
  client.on("error", () => undefined)
  await client.connect()
  atEnd(t, () => client.end().catch(() => undefined))
  return client
}

export const startInstance = async (
  t: TestContext,
  confinement: Confinement,
  machine: Machine,
  template: Template,
  slot: number,
): Promise<Instance> => {
  const volume = makeVolume(t, confinement, machine, template, slot)
  const server = await startServerProcess(volume.command, { log: () => undefined })
  atEnd(t, () => server.stop())
  return { ...volume, server, client: await connect(t, volume.socketDir) }
}

/** What a shell of the server's user prints to both its outputs, with `exit <status>` as last line. */
export const runProgram = async ({ client }: Instance, command: string): Promise<string> => {
  await client.query("CREATE TEMP TABLE IF NOT EXISTS printed (line text)")
  await client.query("TRUNCATE printed")
  const program = pg.escapeLiteral(`{ ${command}\n} 2>&1; echo "exit $?"`)
  await client.query(
    `COPY printed FROM PROGRAM ${program} (FORMAT csv, DELIMITER E'\\x01', QUOTE E'\\x02', ENCODING 'LATIN1')`,
  )
  const { rows } = await client.query("SELECT line FROM printed")
  return rows.map(({ line }) => line ?? "").join("\n")
}

/** The words of the server when it refuses a statement, or `done` and the first value. */
export const runSql = async (
  { client }: Instance,
  sql: string,
  values: readonly unknown[] = [],
): Promise<string> => {
  try {
    const { rows } = await client.query(sql, [...values])
    return `done ${JSON.stringify(rows)}`
  } catch (error) {
    return error instanceof Error ? `refused ${error.message}` : String(error)
  }
}
