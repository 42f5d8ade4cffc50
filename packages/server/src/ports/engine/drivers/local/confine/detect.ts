import { execFile } from "node:child_process"
import { existsSync, realpathSync } from "node:fs"
import { chmod, chown, mkdir, mkdtemp, readFile, rm } from "node:fs/promises"
import { homedir, release, tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { type Account, chooseAccount, spawnAs } from "../../../../../kernel/db/embedded/account.ts"
import { ownersInRange, rangeExists } from "../../../../../kernel/db/embedded/id-range.ts"
import { CHILD_ENVIRONMENT } from "../../../../../kernel/db/embedded/processes.ts"
import { PortError } from "../../../../port-error.ts"
import { asOwnUser, type ConfinedCommand, type ConfinedVolume, inUserNamespace, type View } from "./chain.ts"
import { outermost, readMounts, readOnlyMountOf, writableMounts } from "./mounts.ts"

/** How the servers of volumes are kept from each other, from the platform and from the network. */
export interface Confinement {
  readonly isolation: "user" | "namespace" | "none"
  readonly network: "none" | "open"
  /** What is not kept apart here and why, for the operator; absent when everything is. */
  readonly reason?: string
  /**
   * The user who owns a volume's files and runs its server, undefined: we ourselves. Under isolation "user" each slot
   * has another one. They have no names, and initdb refuses to run as a user without one.
   */
  ownerOf(slot: number): Account | undefined
  /**
   * The argument vector that starts a program for a volume; its directories exist and its own user may reach them. The
   * process that is spawned becomes the program, with the same id.
   *
   * System V shared memory is the volume's own, so PostgreSQL does not see there that a session of a dead postmaster
   * still works in the data directory. Who starts a server must look for such processes before.
   */
  command(volume: ConfinedVolume, program: string, args: readonly string[]): ConfinedCommand
}

interface Options {
  readonly log: (line: string) => void
  /** The platform's own directories, which exist. Those in them that are a volume's stay visible to that volume. */
  readonly hiddenDirs: readonly string[]
  /** As whom all volumes run where there are no users enough; only root can choose. */
  readonly account?: Account | undefined
  readonly uidBase?: number
  readonly slotsMax?: number
  /** Processes and threads that a volume may have at a time. */
  readonly processesMax?: number
}

interface Candidate extends Confinement {
  /** What the machine must grant for it, for the log when it does not. */
  readonly needs: string
}

const UID_BASE = 200_000
const SLOTS_MAX = 100_000
/** 100 sessions, their parallel workers and PostgreSQL's own come to some 120. */
const PROCESSES_MAX = 256
const PROBE_TIMEOUT_MS = 10_000
const SCRATCH_DIRS = ["/tmp", "/var/tmp", "/dev/shm"]
/** Sockets of the machine's services, some of which let everybody in. */
const HIDDEN_DIRS = ["/run"]

const isRoot = () => process.getuid?.() === 0

const viewOf = async (hiddenDirs: readonly string[]): Promise<View> => {
  const scratchDirs = outermost(SCRATCH_DIRS)
  const covered = outermost([...scratchDirs, ...hiddenDirs])
  const mounts = readMounts(await readFile("/proc/self/mountinfo", "utf8"))
  return {
    hidden: covered.filter(path => !scratchDirs.includes(path)),
    scratch: covered.filter(path => scratchDirs.includes(path)),
    readOnly: writableMounts(mounts, covered),
    readOnlyMountOf: path => readOnlyMountOf(mounts, path),
  }
}

/** A place that could not be hidden would be open without a word. */
const demandHideable = (directory: string): void => {
  if (existsSync(directory) && realpathSync(directory) !== "/") return
  throw new PortError(
    "refused",
    `${directory} cannot be hidden from databases, for it is "/" or does not exist`,
  )
}

const kernelIsAtLeast = (major: number, minor: number): boolean => {
  const [runningMajor = 0, runningMinor = 0] = release()
    .split(".")
    .map(part => Number.parseInt(part, 10))
  return runningMajor > major || (runningMajor === major && runningMinor >= minor)
}

const candidatesAsOwnUsers = (
  view: View,
  { uidBase = UID_BASE, slotsMax = SLOTS_MAX, processesMax = PROCESSES_MAX }: Options,
): readonly Candidate[] => {
  const ownerOf = (slot: number): Account => {
    if (!Number.isSafeInteger(slot) || slot < 0 || slot >= slotsMax)
      throw new PortError("refused", `there is no user for a volume in slot ${slot}`)
    return { name: String(uidBase + slot), uid: uidBase + slot, gid: uidBase + slot }
  }
  const candidate = (namespaces: boolean, seen: View | undefined) =>
    asOwnUser({ ownerOf, namespaces, view: seen, hidesProcesses: kernelIsAtLeast(5, 8), processesMax })
  const common = { isolation: "user" as const, ownerOf }
  return [
    { ...common, network: "none", needs: "namespaces and mounts", command: candidate(true, view) },
    {
      ...common,
      network: "none",
      reason: "volumes see the machine's files as any user does, because the kernel forbids mounts",
      needs: "namespaces",
      command: candidate(true, undefined),
    },
    {
      ...common,
      network: "open",
      reason: "volumes reach the network, because the kernel forbids namespaces",
      needs: "other users",
      command: candidate(false, undefined),
    },
  ]
}

const candidateAsOneUser = (
  view: View,
  account: Account | undefined,
  processesMax: number = PROCESSES_MAX,
): Candidate => ({
  isolation: "namespace",
  network: "none",
  reason:
    "all volumes run as one user: each can end the processes of the others and see the arguments of all; " +
    "only root can give each a user of its own",
  needs: "user namespaces",
  ownerOf: () => account,
  command: inUserNamespace({
    account,
    self: { uid: process.getuid?.() ?? -1, gid: process.getgid?.() ?? -1 },
    view,
    // Since Linux 5.14 the limit counts the processes of the user namespace, before that all of the user.
    processesMax: kernelIsAtLeast(5, 14) ? processesMax : undefined,
  }),
})

const unconfined = (account: Account | undefined, reason: string): Confinement => ({
  isolation: "none",
  network: "open",
  reason,
  ownerOf: () => account,
  command: (_volume, program, args) => ({ command: program, args, options: spawnAs(account) }),
})

/** Runs a program in it that does nothing. The error's first line, or undefined when all went well. */
const probe = async ({ ownerOf, command }: Confinement): Promise<string | undefined> => {
  const folder = await mkdtemp(join(tmpdir(), "svc-probe-"))
  try {
    await chmod(folder, 0o711)
    const volume = {
      slot: 0,
      volumeDir: join(folder, "volume"),
      socketDir: join(folder, "run"),
      programsDir: "/usr",
    }
    const owner = ownerOf(volume.slot)
    for (const directory of [volume.volumeDir, volume.socketDir]) {
      await mkdir(directory, { mode: 0o700 })
      if (owner) await chown(directory, owner.uid, owner.gid)
    }
    const { command: program, args, options } = command(volume, "true", [])
    await promisify(execFile)(program, args, {
      ...options,
      env: CHILD_ENVIRONMENT,
      cwd: "/",
      timeout: PROBE_TIMEOUT_MS,
    })
    return undefined
  } catch (error) {
    const told = error instanceof Error && "stderr" in error ? String(error.stderr) : ""
    return told.trim().split("\n")[0] || String(error).split("\n")[0]
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const warnOfOwners = async (first: number, count: number, log: (line: string) => void): Promise<void> => {
  const [passwd, subuid] = await Promise.all(
    ["/etc/passwd", "/etc/subuid"].map(path => readFile(path, "utf8").catch(() => "")),
  )
  const owners = ownersInRange({ passwd: passwd ?? "", subuid: subuid ?? "" }, first, count)
  if (owners.length === 0) return
  log(
    `users ${first} to ${first + count - 1} run databases, and the machine gave some to ${owners.join(", ")}`,
  )
}

/** The best confinement that this machine grants; each is tried once, with a program that does nothing. */
export const detectConfinement = async (options: Options): Promise<Confinement> => {
  const { log, hiddenDirs, uidBase = UID_BASE, slotsMax = SLOTS_MAX } = options
  const [firstDir = "/"] = hiddenDirs
  const oneAccount = () =>
    isRoot() ? (options.account ?? chooseAccount({ dataDir: firstDir, cluster: firstDir })) : undefined
  if (process.platform !== "linux")
    return unconfined(
      oneAccount(),
      "this system has no namespaces, so volumes run as one user with its network",
    )

  hiddenDirs.forEach(demandHideable)
  const ownUsers = isRoot() && rangeExists(uidBase, slotsMax)
  if (ownUsers) await warnOfOwners(uidBase, slotsMax, log)
  // Run by an ordinary user, a server could read what is his: keys for other machines, for one.
  const homes = isRoot() || homedir() === "/" ? [] : [homedir()]
  const view = await viewOf([...hiddenDirs, ...HIDDEN_DIRS, ...homes])
  const candidates = ownUsers
    ? candidatesAsOwnUsers(view, options)
    : [candidateAsOneUser(view, oneAccount(), options.processesMax)]

  let failure: string | undefined
  for (const { needs, ...confinement } of candidates) {
    failure = await probe(confinement)
    if (failure === undefined) return confinement
    log(`databases cannot be confined by ${needs}: ${failure}`)
  }
  const cause = `the kernel or a missing program forbids it: ${failure}`
  return unconfined(oneAccount(), `volumes run as one user with the machine's network, because ${cause}`)
}
