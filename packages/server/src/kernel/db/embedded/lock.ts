import { randomBytes } from "node:crypto"
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { dirname, join, resolve } from "node:path"
import { errorCode, onDisk, StartupError } from "../../startup-error.ts"
import { isSameProcess, startTimeOf } from "./processes.ts"

/** Proof that no other living Svc uses a data directory; disposing it lets the next one in. */
export interface DataDirLock extends Disposable {
  /** The locked directory as an absolute path without links. */
  readonly dataDir: string
}

interface Holder {
  readonly pid: number
  /** Tells the holder from a later process of the same id; see `startTimeOf`. */
  readonly startTime?: string | undefined
  /** Random, so that two holds by one process differ too. */
  readonly token: string
}

const LOCK_FILE = "svc.lock"
const TAKE_ATTEMPTS_MAX = 100

/**
 * Makes the data directory if absent and takes its lock, the file `svc.lock`.
 * Throws a StartupError when another living process holds it, or when the directory cannot be written.
 * The lock of a process that was killed, or that ran before a reboot, is taken over.
 */
export const acquireDataDirLock = (dataDir: string): DataDirLock => {
  const directory = makeDataDir(resolve(dataDir))
  const path = join(directory, LOCK_FILE)
  const self: Holder = {
    pid: process.pid,
    startTime: startTimeOf(process.pid),
    token: randomBytes(8).toString("hex"),
  }
  const claim = `${path}.${self.token}.claim`

  onDisk(`lock the data directory ${directory}`, () => {
    try {
      // Written under a name of its own and linked later, so that no reader sees an incomplete lock.
      writeFileSync(claim, `${JSON.stringify(self)}\n`, { flag: "wx", mode: 0o644 })
      take(path, claim, directory)
    } finally {
      rmSync(claim, { force: true })
    }
  })

  return {
    dataDir: directory,
    [Symbol.dispose]: () => {
      if (readHolder(path)?.token === self.token) rmSync(path, { force: true })
    },
  }
}

const makeDataDir = (directory: string): string =>
  onDisk(`create the data directory ${directory}`, () => {
    mkdirSync(dirname(directory), { recursive: true })
    // Started by root, PostgreSQL runs as another user, who must pass through to its own subdirectory.
    const mode = process.getuid?.() === 0 ? 0o711 : 0o700
    try {
      mkdirSync(directory, { mode })
      chmodSync(directory, mode) // whatever the umask
    } catch (error) {
      if (errorCode(error) !== "EEXIST") throw error
    }
    return realpathSync(directory)
  })

/**
 * Only who holds the lock `<path>.<token>` may replace the dead holder of that token, and he looks again first.
 * Without it, of two starters that both saw the dead holder the slower would throw out the quicker one.
 */
const take = (path: string, claim: string, directory: string): void => {
  for (let attempt = 0; attempt < TAKE_ATTEMPTS_MAX; attempt++) {
    if (linkIfAbsent(claim, path)) return
    const holder = readHolder(path)
    if (holder === undefined) continue // released since
    if (isSameProcess(holder.pid, holder.startTime)) throw inUse(directory, holder)

    const takeover = `${path}.${holder.token}`
    take(takeover, claim, directory)
    try {
      if (readHolder(path)?.token !== holder.token) continue // another one was quicker
      linkSync(claim, `${claim}.new`)
      renameSync(`${claim}.new`, path)
      return
    } finally {
      rmSync(takeover, { force: true })
    }
  }
  throw new StartupError(
    `The lock ${path} changes hands too often to be taken.`,
    "See that only one Svc is started on this data directory.",
  )
}

const linkIfAbsent = (claim: string, path: string): boolean => {
  try {
    linkSync(claim, path)
    return true
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false
    throw error
  }
}

/** A file that a power cut left empty or torn reads as a holder who is dead. */
const readHolder = (path: string): Holder | undefined => {
  try {
    const { pid, startTime, token } = JSON.parse(readFileSync(path, "utf8"))
    if (Number.isSafeInteger(pid) && typeof token === "string" && /^[0-9a-f]{16}$/.test(token)) {
      return { pid, startTime: typeof startTime === "string" ? startTime : undefined, token }
    }
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined
    if (!(error instanceof SyntaxError)) throw error
  }
  return { pid: 0, token: "unreadable" }
}

const inUse = (directory: string, { pid }: Holder): StartupError =>
  pid === process.pid
    ? new StartupError(
        `The data directory ${directory} is already in use by this process, ${pid}.`,
        "Stop what was started on it first, or use another directory.",
      )
    : new StartupError(
        `The data directory ${directory} is in use by another Svc, process ${pid}.`,
        `Stop it (kill ${pid}), or give this one a directory of its own through SVC_DATA_DIR.`,
      )
