import { createHash } from "node:crypto"
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { onDisk, StartupError } from "../../startup-error.ts"
import { type Account, mayTraverse } from "./account.ts"

/** Where the parts of one embedded database live; all paths absolute. */
export interface Placement {
  /** The PostgreSQL data directory; may not exist yet. */
  readonly cluster: string
  /** Where the link to a cluster outside of the data directory is to be made once the cluster exists. */
  readonly link?: string
}

/** The address of a Unix socket holds 108 bytes on Linux, 104 on macOS, with a final zero. */
const SOCKET_PATH_BYTES_MAX = 100
const SOCKET_NAME = ".s.PGSQL.5432"

export const hashOf = (path: string): string => createHash("sha256").update(path).digest("hex").slice(0, 12)

/**
 * The cluster is `<dataDir>/postgres`. If the account cannot reach that (a project under /root), it is
 * `<systemDir>/data-<hash of dataDir>/postgres`, and the former becomes a link to it.
 */
export const placeCluster = (options: {
  dataDir: string
  systemDir: string
  account: Account | undefined
}): Placement => {
  const { dataDir, systemDir, account } = options
  const entry = join(dataDir, "postgres")
  const found = onDisk(`read ${entry}`, () => lstatSync(entry, { throwIfNoEntry: false }))
  const reaches = (directory: string) => account === undefined || mayTraverse(account, directory)

  if (found === undefined) {
    if (reaches(dataDir)) return { cluster: entry }
    return { cluster: join(systemDir, `data-${hashOf(dataDir)}`, "postgres"), link: entry }
  }
  if (found.isSymbolicLink() && !existsSync(entry)) {
    throw new StartupError(
      `The control database of ${dataDir} is at ${resolve(dataDir, readlinkSync(entry))}, which does not exist.`,
      `Mount or restore that directory; to start with an empty database instead, remove ${entry}.`,
    )
  }
  const cluster = onDisk(`read ${entry}`, () => realpathSync(entry))
  if (reaches(dirname(cluster))) return { cluster }
  throw new StartupError(
    `The user ${account?.name}, as whom PostgreSQL runs, cannot reach the control database ${cluster}.`,
    "Let others pass through the directories above it (chmod o+x), or move it and link it from where it was.",
  )
}

/** Where the socket goes: beside the cluster's entry when the path is short enough, else in the system's temporary directory. */
export const placeSocket = (options: {
  dataDir: string
  cluster: string
  account: Account | undefined
  temporaryDir?: string
}): string => {
  const { dataDir, cluster, account, temporaryDir = tmpdir() } = options
  const reachable = account === undefined || mayTraverse(account, dataDir)
  const candidates = [
    join(reachable ? dataDir : dirname(cluster), "run"),
    join(temporaryDir, `svc-${hashOf(dataDir)}`),
  ]
  const fitting = candidates.find(path => Buffer.byteLength(join(path, SOCKET_NAME)) <= SOCKET_PATH_BYTES_MAX)
  if (fitting !== undefined) return fitting
  throw new StartupError(
    `Neither ${candidates.join(" nor ")} is short enough to hold a Unix socket.`,
    "Choose a shorter SVC_DATA_DIR or TMPDIR.",
  )
}

/**
 * Makes a directory that only the account (or we) may enter. The database trusts whoever reaches its socket,
 * so a directory that somebody else prepared under that name is refused.
 */
export const makePrivateDir = (directory: string, account: Account | undefined): void =>
  onDisk(`create ${directory}`, () => {
    const self = process.getuid?.()
    const owner = account?.uid ?? self
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    // Judged and changed through one descriptor, so that it cannot be swapped for a link in between.
    const opened = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
    try {
      const stat = fstatSync(opened)
      if (stat.uid !== owner && stat.uid !== self) throw notOurs(directory, account?.name ?? String(self))
      if (account !== undefined && stat.uid !== owner) fchownSync(opened, account.uid, account.gid)
      if ((stat.mode & 0o777) !== 0o700) fchmodSync(opened, 0o700)
    } finally {
      closeSync(opened)
    }
  })

const notOurs = (directory: string, user: string): StartupError =>
  new StartupError(
    `${directory} already exists and does not belong to the user ${user}.`,
    "Remove it, since whoever owns it could read the control database.",
  )

/** Makes a directory through which the account may pass, whatever our umask. */
export const makePassageDir = (directory: string): void =>
  onDisk(`create ${directory}`, () => {
    for (const path of [dirname(directory), directory]) {
      if (existsSync(path)) continue
      mkdirSync(path, { recursive: true })
      chmodSync(path, 0o711)
    }
  })
