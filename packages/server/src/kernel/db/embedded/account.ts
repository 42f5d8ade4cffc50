import { createHash } from "node:crypto"
import { existsSync, readFileSync, realpathSync, type Stats, statSync } from "node:fs"
import { dirname } from "node:path"
import { StartupError } from "../../startup-error.ts"
import { rangeExists } from "./id-range.ts"

/** A user of this machine. */
export interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

const ROOT = 0
const EXECUTE = 0o1
const READ = 0o4

/**
 * The unprivileged user as whom PostgreSQL runs when we are root, since it refuses to run as root;
 * undefined when we are an ordinary user, who runs it himself.
 * In order: `runAs` (a name, `uid` or `uid:gid`), the owners of the cluster and of the data directory unless root or an
 * id of our own, `postgres`, `nobody`. It has a name, which initdb needs.
 */
export const chooseAccount = (options: {
  runAs?: string | undefined
  dataDir: string
  cluster: string
}): Account | undefined => {
  const { runAs, dataDir, cluster } = options
  const accounts = readAccounts()
  const self = process.getuid?.()
  if (self !== ROOT) {
    if (runAs === undefined || findAccount(accounts, runAs)?.uid === self) return undefined
    throw new StartupError(
      `PostgreSQL cannot be run as ${runAs}, because only root may change to another user.`,
      `Start Svc as ${runAs} or as root, or leave that setting out.`,
    )
  }
  if (runAs !== undefined) return namedAccount(accounts, runAs)

  const account =
    ordinaryOwner(accounts, cluster) ??
    // A container may not know the user who owns a mounted directory, and initdb fails for an unknown user.
    accounts.find(({ uid }) => uid !== ROOT && uid === ordinaryOwner(accounts, dataDir)?.uid) ??
    findAccount(accounts, "postgres") ??
    findAccount(accounts, "nobody")
  if (account !== undefined) return account
  throw new StartupError(
    "PostgreSQL refuses to run as root, and this machine has neither a user postgres nor a user nobody.",
    "Create a user postgres, start Svc as an ordinary user, or set SVC_DATABASE_URL to an existing PostgreSQL.",
  )
}

/** Past the ids that user management, containers and our own workloads (from 1,900,000,000 on) are given. */
const OWN_IDS_FROM = 1_800_000_000
const OWN_IDS = 10_000_000

/** An id that no other service of the machine has, and each data directory another one. It needs no name. */
const ownAccount = (dataDir: string): Account => {
  const number = createHash("sha256").update(realpathSync(dataDir)).digest().readUInt32BE(0)
  return asAccount(OWN_IDS_FROM + (number % OWN_IDS))
}

const asAccount = (id: number): Account => ({ name: String(id), uid: id, gid: id })
const isOwnId = (uid: number): boolean => uid >= OWN_IDS_FROM && uid < OWN_IDS_FROM + OWN_IDS

/** As whom the control database ran by default before it had an account of its own. */
const EARLIER_DEFAULTS = ["postgres", "nobody"]

/**
 * As whom the control database runs: `chosen`, where somebody chose it by a setting or by whose files there are; else an
 * account of its own.
 */
export const accountOfServer = (
  chosen: Account | undefined,
  options: { runAs?: string | undefined; dataDir: string; cluster: string },
): Account | undefined => {
  const { runAs, dataDir, cluster } = options
  if (chosen === undefined || runAs !== undefined || statSync(dataDir).uid === chosen.uid) return chosen
  if (existsSync(cluster) && !EARLIER_DEFAULTS.includes(chosen.name)) return chosen
  const owner = statSync(cluster, { throwIfNoEntry: false })?.uid
  // A data directory that was moved keeps the account that its files have.
  const own = owner !== undefined && isOwnId(owner) ? asAccount(owner) : ownAccount(dataDir)
  return rangeExists(own.uid, 1) ? own : chosen
}

const ordinaryOwner = (accounts: readonly Account[], path: string): Account | undefined => {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined || stat.uid === ROOT || isOwnId(stat.uid)) return undefined
  return (
    accounts.find(({ uid }) => uid === stat.uid) ?? { name: String(stat.uid), uid: stat.uid, gid: stat.gid }
  )
}

const namedAccount = (accounts: readonly Account[], runAs: string): Account => {
  const account = findAccount(accounts, runAs)
  if (account !== undefined && account.uid !== ROOT) return account
  throw new StartupError(
    account ? "PostgreSQL refuses to run as root." : `There is no user ${runAs} on this machine.`,
    "Name an existing ordinary user, or leave that setting out.",
  )
}

const findAccount = (accounts: readonly Account[], text: string): Account | undefined => {
  const numeric = /^(\d+)(?::(\d+))?$/.exec(text)
  if (numeric === null) return accounts.find(({ name }) => name === text)
  const uid = Number(numeric[1])
  const known = accounts.find(account => account.uid === uid)
  if (numeric[2] === undefined) return known ?? { name: text, uid, gid: uid }
  return { name: known?.name ?? text, uid, gid: Number(numeric[2]) }
}

const readAccounts = (): readonly Account[] => {
  try {
    return readFileSync("/etc/passwd", "utf8")
      .split("\n")
      .map(line => line.split(":"))
      .filter(fields => fields.length >= 7)
      .map(([name = "", , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
  } catch {
    return [] // an image without users; numeric settings and owners of files still work
  }
}

const allows = (stat: Stats, { uid, gid }: Account, permission: number): boolean => {
  const shift = stat.uid === uid ? 6 : stat.gid === gid ? 3 : 0
  return ((stat.mode >> shift) & permission) === permission
}

/** True when the account may pass through a directory and all those above it. */
export const mayTraverse = (account: Account, directory: string): boolean => {
  for (let path = realpathSync(directory); ; path = dirname(path)) {
    if (!allows(statSync(path), account, EXECUTE)) return false
    if (path === dirname(path)) return true
  }
}

/** True when the account may reach a program and run it. */
export const mayExecute = (account: Account, program: string): boolean =>
  mayTraverse(account, dirname(program)) && allows(statSync(program), account, READ | EXECUTE)

/** The options that make a child process run as the account, without our supplementary groups. */
export const spawnAs = (account: Account | undefined): { uid?: number; gid?: number } =>
  account ? { uid: account.uid, gid: account.gid } : {}
