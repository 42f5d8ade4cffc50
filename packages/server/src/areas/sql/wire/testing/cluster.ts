/** A PostgreSQL that takes passwords on a Unix socket only, as a branch's server does. */
import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { chmod, chown, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import pg from "pg"
import { createSemaphore } from "../../../../kernel/concurrency/semaphore.ts"
import { type Account, chooseAccount, spawnAs } from "../../../../kernel/db/embedded/account.ts"
import { locateBinaries, prepareBinaries, programOf } from "../../../../kernel/db/embedded/binaries.ts"
import { makePrivateDir } from "../../../../kernel/db/embedded/placement.ts"
import { CHILD_ENVIRONMENT } from "../../../../kernel/db/embedded/processes.ts"
import { startServer } from "../../../../kernel/db/embedded/server.ts"
import type { PgVersion } from "../../../../ports/engine/port.ts"

export const PASSWORD = "only-in-tests"
/** Logs in without a password. */
export const GUEST = "guest"
const SUPERUSER = "svc_super"

export interface TestCluster extends AsyncDisposable {
  readonly branchId: string
  readonly version: PgVersion
  readonly socketDir: string
  readonly socketPath: string
  readonly pid: number
  /** Asks the server itself, past the proxy. */
  ask(sql: string): Promise<Record<string, unknown>[]>
  /** What the server keeps of a role's password. */
  verifier(role: string): Promise<string | undefined>
}

/** For a server that takes TLS connections of the guest on a TCP port, too. */
export interface TcpOptions {
  readonly port: number
  readonly certificate: { readonly key: string; readonly cert: string }
}

const offerTls = async (root: string, account: Account | undefined, { port, certificate }: TcpOptions) => {
  const [key, cert] = [join(root, "server.key"), join(root, "server.crt")]
  await writeFile(key, certificate.key, { mode: 0o600 })
  await writeFile(cert, certificate.cert)
  if (account) await chown(key, account.uid, account.gid)
  return [
    ...["listen_addresses=127.0.0.1", `port=${port}`, "ssl=on"],
    ...[`ssl_key_file=${key}`, `ssl_cert_file=${cert}`],
  ]
}

/** Database `app` of role `owner`, whose password is `PASSWORD`. */
export const startCluster = async (version: PgVersion, tcp?: TcpOptions): Promise<TestCluster> => {
  const root = await mkdtemp(join(tmpdir(), "svc-wire-"))
  await chmod(root, 0o711)
  const account = chooseAccount({ dataDir: root, cluster: join(root, "data") })
  const log = () => undefined
  const installed = locateBinaries(process.platform, process.arch, version)
  const binaries = await prepareBinaries(installed, { account, stagingDir: "/var/lib/svc", log })
  const [cluster, socketDir] = [join(root, "data"), join(root, "run")]
  const passwordFile = join(root, "password")
  makePrivateDir(cluster, account)
  makePrivateDir(socketDir, account)
  await writeFile(passwordFile, PASSWORD)
  await promisify(execFile)(
    programOf(binaries, "initdb"),
    [
      ...["-D", cluster, "-U", SUPERUSER, "--pwfile", passwordFile, "--auth", "scram-sha-256"],
      ...["--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions"],
    ],
    { ...spawnAs(account), env: CHILD_ENVIRONMENT, cwd: "/" },
  )
  // For tests that speak the protocol by hand, and are not about logging in.
  const rules = join(cluster, "pg_hba.conf")
  await writeFile(
    rules,
    `local all ${GUEST} trust\nhostssl all ${GUEST} 127.0.0.1/32 trust\n${await readFile(rules, "utf8")}`,
  )
  const listening = tcp ? await offerTls(root, account, tcp) : ["listen_addresses="]
  const settings = [...listening, `unix_socket_directories=${socketDir}`, "fsync=off"]
  const small = ["shared_buffers=16MB", "max_connections=60", "max_wal_size=256MB"]
  const server = await startServer({ binaries, cluster, settings: [...settings, ...small], account, log })

  const askAlone = async (sql: string, database: string) => {
    const client = new pg.Client({
      host: socketDir,
      port: tcp?.port ?? 5432,
      user: SUPERUSER,
      password: PASSWORD,
      database,
    })
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }
  // Far fewer than the server has connections: a hundred clients that log in at once ask for a hundred verifiers.
  const places = createSemaphore(8)
  const ask = (sql: string, database = "app") => places.run(() => askAlone(sql, database))
  await ask(`CREATE ROLE owner LOGIN PASSWORD '${PASSWORD}'`, "postgres")
  await ask("CREATE DATABASE app OWNER owner", "postgres")
  await ask(`CREATE ROLE ${GUEST} LOGIN`, "postgres")
  return {
    branchId: randomUUID(),
    version,
    socketDir,
    socketPath: join(socketDir, ".s.PGSQL.5432"),
    pid: server.pid,
    ask,
    async verifier(role) {
      const [row] = await ask(
        `SELECT rolpassword FROM pg_authid WHERE rolname = ${pg.escapeLiteral(role)} AND NOT rolsuper`,
      )
      return typeof row?.rolpassword === "string" ? row.rolpassword : undefined
    },
    async [Symbol.asyncDispose]() {
      await server.stop()
      await rm(root, { recursive: true, force: true })
    },
  }
}
