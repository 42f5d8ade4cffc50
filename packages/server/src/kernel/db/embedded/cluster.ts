import { execFile } from "node:child_process"
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { basename, dirname, join } from "node:path"
import { errorCode, onDisk, StartupError } from "../../startup-error.ts"
import { type Account, spawnAs } from "./account.ts"
import { type Binaries, programOf } from "./binaries.ts"
import { giveFile, giveTree } from "./ownership.ts"
import { demandPassword, QUICK_LOGIN } from "./password.ts"
import { makePrivateDir } from "./placement.ts"
import { CHILD_ENVIRONMENT } from "./processes.ts"

export const DATABASE = "svc"

const INITDB_TIMEOUT_MS = 120_000
const OUTPUT_BYTES_MAX = 256 * 1024

/** Opens nothing: sees that the cluster is there, of our version and of our user, and creates it when absent. */
export const ensureCluster = async (options: {
  binaries: Binaries
  cluster: string
  /** As whom the server runs. */
  account: Account | undefined
  /** As whom initdb runs, which refuses to be a user without a name. */
  named: Account | undefined
  password: string
  durable: boolean
  log: (line: string) => void
}): Promise<void> => {
  const { binaries, cluster, account, named, password, durable, log } = options
  if (existsSync(cluster)) {
    checkCluster(cluster, binaries.major, account)
    return
  }
  const parent = dirname(cluster)
  const unfinished = `${cluster}.init-`
  onDisk(`clear away an interrupted start in ${parent}`, () => {
    for (const name of readdirSync(parent)) {
      if (!name.startsWith(basename(unfinished))) continue
      rmSync(join(parent, name), { recursive: true, force: true, maxRetries: 5 })
    }
  })

  log(`creating the control database in ${cluster}`)
  const fresh = `${unfinished}${process.pid}`
  makePrivateDir(fresh, named)
  const passwordFile = `${fresh}.password`
  try {
    writeFileSync(passwordFile, password, { mode: 0o600, flag: "wx" })
    if (named) giveFile(passwordFile, named)
    await runInitdb({ binaries, directory: fresh, account: named, passwordFile, durable })
    if (account) giveTree(fresh, account)
    demandPassword(fresh, account)
    // Only a whole cluster gets the name by which the next start recognises it.
    onDisk(`create the control database in ${cluster}`, () => {
      renameSync(fresh, cluster)
      if (durable) syncDirectory(parent)
    })
  } catch (error) {
    rmSync(fresh, { recursive: true, force: true })
    throw error
  } finally {
    rmSync(passwordFile, { force: true })
  }
}

const syncDirectory = (directory: string): void => {
  const opened = openSync(directory, "r")
  try {
    fsyncSync(opened)
  } finally {
    closeSync(opened)
  }
}

const checkCluster = (cluster: string, major: string, account: Account | undefined): void => {
  const owner = onDisk(`read the control database ${cluster}`, () => statSync(cluster).uid)
  const user = account?.uid ?? process.getuid?.()
  if (owner !== user) {
    throw new StartupError(
      `The control database ${cluster} belongs to user ${owner}, and PostgreSQL would run as user ${user}.`,
      account
        ? `Give it to that user (chown -R ${user} ${cluster}), or run PostgreSQL as user ${owner}.`
        : `Start Svc as user ${owner} or as root.`,
    )
  }
  const versionFile = join(cluster, "PG_VERSION")
  if (!existsSync(versionFile)) {
    throw new StartupError(
      `${cluster} exists but holds no PostgreSQL cluster.`,
      "Move it away, or choose another directory through SVC_DATA_DIR.",
    )
  }
  const version = onDisk(`read ${versionFile}`, () => readFileSync(versionFile, "utf8").trim())
  if (version === major) return
  throw new StartupError(
    `The control database ${cluster} was made by PostgreSQL ${version}, and this Svc carries PostgreSQL ${major}.`,
    `Dump it with PostgreSQL ${version} (pg_dump), move it away, start Svc and load the dump; or use the Svc that made it.`,
  )
}

const runInitdb = (options: {
  binaries: Binaries
  directory: string
  account: Account | undefined
  passwordFile: string
  durable: boolean
}): Promise<void> => {
  const { binaries, directory, account, passwordFile, durable } = options
  const settings = [
    ...["--pgdata", directory, "--username", DATABASE, "--encoding", "UTF8", "--locale", "C"],
    ...["--locale-provider", "builtin", "--builtin-locale", "C.UTF-8", "--data-checksums"],
    ...["--auth", "scram-sha-256", "--pwfile", passwordFile, "--set", QUICK_LOGIN, "--no-instructions"],
    ...(durable ? [] : ["--no-sync"]),
  ]
  const spawnOptions = {
    ...spawnAs(account),
    env: CHILD_ENVIRONMENT,
    cwd: "/",
    timeout: INITDB_TIMEOUT_MS,
    maxBuffer: OUTPUT_BYTES_MAX,
  }
  return new Promise((fulfil, reject) => {
    execFile(programOf(binaries, "initdb"), settings, spawnOptions, (error, stdout, stderr) => {
      if (error === null) fulfil()
      else reject(initdbFailure(error, `${stdout}\n${stderr}`, directory))
    })
  })
}

const initdbFailure = (error: Error, output: string, directory: string): StartupError => {
  if (/No space left on device|Disk quota exceeded/.test(output)) return diskFull(dirname(directory))
  if (errorCode(error) !== undefined) return cannotRun(error)
  const stranger = /could not look up effective user ID (\d+)/.exec(output)?.[1]
  if (stranger !== undefined) return unlistedUser(stranger)
  const complaints = output.split("\n").filter(line => /error|fatal|could not|cannot/i.test(line))
  const reason = complaints.slice(-3).join(" ").trim() || output.trim().slice(-300) || error.message
  return new StartupError(
    `The control database could not be created in ${dirname(directory)}: ${reason}`,
    "Mend what it names, or set SVC_DATABASE_URL to an existing PostgreSQL.",
    { cause: error },
  )
}

const unlistedUser = (uid: string): StartupError =>
  new StartupError(
    `The control database cannot be created as user ${uid}, which /etc/passwd does not list.`,
    "Add that user to /etc/passwd, run as a listed one, or set SVC_DATABASE_URL to an existing PostgreSQL.",
  )

export const diskFull = (directory: string): StartupError =>
  new StartupError(
    `The control database cannot be written in ${directory}: the disk is full.`,
    "Free some space, or choose another directory through SVC_DATA_DIR.",
  )

const OUTSIDE_DATABASE = "or set SVC_DATABASE_URL to an existing PostgreSQL."

/** The system call that starts a program failed, so there is no output to quote. */
export const cannotRun = (error: Error): StartupError => {
  const code = errorCode(error) ?? error.message
  // The programs were found before, so what is missing is the loader of the C library they were built for.
  const [reason, hint] =
    code === "ENOENT"
      ? [
          "this system lacks the GNU C library (glibc) they need",
          `Use a glibc-based system, ${OUTSIDE_DATABASE}`,
        ]
      : code === "EPERM" || code === "EINVAL"
        ? ["root may not change to another user here", `Start Svc as an ordinary user, ${OUTSIDE_DATABASE}`]
        : [code, `See that this user may run them, ${OUTSIDE_DATABASE}`]
  return new StartupError(`The PostgreSQL programs cannot be run: ${reason}.`, hint, { cause: error })
}
