import { execFileSync } from "node:child_process"
import { chmodSync, chownSync, cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { TestContext } from "node:test"
import pg from "pg"
import { spawnAs } from "../../../../../../kernel/db/embedded/account.ts"
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
import { copyWalFiles, type WalFile } from "../archive.ts"
import type { WalSource } from "../messages.ts"

const account = isRoot ? nobody : undefined
const PASSWORD = "a password of the tests"

/** Makes what belongs to us the servers' user's. */
const handOver = (path: string) => {
  if (account) execFileSync("chown", ["-R", `${account.uid}:${account.gid}`, path])
}

/** A data directory that was shut down in order, with segments of 1 MB and SCRAM on its socket. */
export const makeTemplate = async (t: TestContext, version: PgVersion) => {
  const binaries = await prepareBinaries(locateBinaries(process.platform, process.arch, version), {
    ...{ account, stagingDir: temporaryDir(t), log: () => undefined },
  })
  const parent = temporaryDir(t)
  const passwordFile = join(parent, "password")
  writeFileSync(passwordFile, PASSWORD)
  handOver(parent)
  const dataDir = join(parent, "template")
  execFileSync(
    programOf(binaries, "initdb"),
    [
      ...["--pgdata", dataDir, "--username=postgres", "--pwfile", passwordFile, "--auth=scram-sha-256"],
      ...["--no-sync", "--no-locale", "-E", "UTF8", "--wal-segsize=1"],
    ],
    { ...spawnAs(account), env: CHILD_ENVIRONMENT, cwd: "/" },
  )
  return { binaries, dataDir, version }
}

export type Template = Awaited<ReturnType<typeof makeTemplate>>

export interface Cluster {
  readonly dataDir: string
  readonly server: ServerProcess
  readonly source: Omit<WalSource, "walDir">
  connect(): Promise<pg.Client>
}

const SETTINGS = [
  "listen_addresses=",
  "dynamic_shared_memory_type=mmap",
  "shared_buffers=16MB",
  "max_wal_size=64MB",
  "min_wal_size=4MB",
  "wal_level=replica",
  "max_wal_senders=4",
  "hot_standby=off",
  "jit=off",
]

/** A data directory of its own, which a test may destroy. */
export const copyOf = (t: TestContext, { dataDir }: Template): string => {
  const copy = join(temporaryDir(t), "data")
  cpSync(dataDir, copy, { recursive: true })
  chmodSync(copy, 0o700)
  handOver(copy)
  return copy
}

/** Starts a server; it is stopped after the test if it still runs. */
export const startCluster = async (
  t: TestContext,
  { binaries }: Template,
  dataDir: string,
  settings: readonly string[] = [],
): Promise<Cluster> => {
  const socketDir = temporaryDir(t)
  handOver(socketDir)
  const all = [...SETTINGS, `unix_socket_directories=${socketDir}`, ...settings]
  const args = ["-D", dataDir, ...all.flatMap(setting => ["-c", setting])]
  const command = { command: programOf(binaries, "postgres"), args, options: spawnAs(account) }
  const server = await startServerProcess(command, { log: () => undefined })
  atEnd(t, () => server.stop())
  const at = { socketDir, port: 5432, user: "postgres", password: PASSWORD }
  return {
    ...{ dataDir, server, source: { volumeId: "volume", ...at } },
    async connect() {
      const client = new pg.Client({
        host: socketDir,
        user: at.user,
        password: at.password,
        database: "postgres",
      })
      client.on("error", () => undefined)
      await client.connect()
      atEnd(t, () => client.end().catch(() => undefined))
      return client
    },
  }
}

/** Puts the log where a server looks for it, and tells it to replay all of it. */
export const prepareRecovery = async (dataDir: string, files: readonly WalFile[]): Promise<void> => {
  const pgWal = join(dataDir, "pg_wal")
  for (const name of readdirSync(pgWal)) if (/^[0-9A-F]{24}$/.test(name)) rmSync(join(pgWal, name))
  await copyWalFiles(files, pgWal)
  writeFileSync(join(dataDir, "recovery.signal"), "")
  handOver(pgWal)
  if (account) chownSync(join(dataDir, "recovery.signal"), account.uid, account.gid)
}

export const makeWalDir = (t: TestContext): string => {
  const walDir = join(temporaryDir(t), "wal")
  mkdirSync(walDir)
  return walDir
}
