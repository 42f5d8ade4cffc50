/** What drivers need of this machine, and whether it has it. */
import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { constants } from "node:fs"
import { access, chmod, mkdir, open, readFile, realpath, rm } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { rangeExists } from "../../../../kernel/db/embedded/id-range.ts"
import { PortError } from "../../../port-error.ts"
import { type AgentKit, makeAgentKit } from "../../agent/kit.ts"
import type { Root } from "../../port.ts"

/** Past what systemd gives to containers (systemd UIDS-GIDS: 524288 to 1879048191). */
export const UID_BASE = 1_900_000_000
export const UIDS_EACH = 65_536
export const SLOTS_MAX = 2_048

export const isRoot = () => process.getuid?.() === 0

export const programIn = async (name: string): Promise<string | undefined> => {
  for (const directory of ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"]) {
    const path = join(directory, name)
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return path
  }
  return undefined
}

/** Opening it tells more than its mode: containers have the file and may not. */
export const mayWrite = async (path: string): Promise<boolean> => {
  try {
    await (await open(path, "r+")).close()
    return true
  } catch {
    return false
  }
}

export const demandPerl = async (): Promise<string> => {
  const perl = await programIn("perl")
  if (perl === undefined) throw new PortError("refused", "perl is missing: install the package perl-base")
  return perl
}

/** Those that workloads have, each as many as a container. */
export const demandUsers = async (): Promise<void> => {
  const end = UID_BASE + SLOTS_MAX * UIDS_EACH
  if (!rangeExists(UID_BASE, SLOTS_MAX * UIDS_EACH))
    throw new PortError("refused", `the users ${UID_BASE} to ${end} do not exist here`)
}

const OPEN_FILES_MIN = 1_024
const OPEN_FILES_MAX = 65_536
/** The part of all files that the machine can have open (fs.file-max) that one workload may take. */
const OPEN_FILES_PART = 1 / 4

/** Gives the limit of open files per process for a workload of so many processes. */
export const openFilesPerProcess = async (): Promise<(processesMax: number) => number> => {
  const machine = Number(
    await readFile("/proc/sys/fs/file-max", "utf8").catch(() => Number.POSITIVE_INFINITY),
  )
  return processesMax => {
    const part = Math.floor((machine * OPEN_FILES_PART) / processesMax)
    return Math.min(OPEN_FILES_MAX, Math.max(OPEN_FILES_MIN, part))
  }
}

/** Whether disks can be file systems of their own. */
export const hasDiskImages = async (): Promise<boolean> =>
  isRoot() && (await programIn("mkfs.ext4")) !== undefined && (await mayWrite("/dev/loop-control"))

/** What the operator is told where they cannot. */
export const withoutDiskImages =
  "disks are not kept to their size: that takes root, mkfs.ext4 (e2fsprogs) and loop devices"

/** Where all that is of workloads is kept, for the platform alone. */
export const workloadsIn = async (dataDir: string): Promise<string> => {
  const directory = join(await realpath(dataDir), "workloads")
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await chmod(directory, 0o700)
  return directory
}

/** Tells what is of one such directory from what is of another on this machine. */
export const instanceOf = (directory: string): string =>
  createHash("sha256").update(directory).digest("hex").slice(0, 12)

/** For a driver that starts the agent as a program, where the root has none. */
export const agentKitIn = async (dataDir: string): Promise<AgentKit> =>
  makeAgentKit(await demandPerl(), await workloadsIn(dataDir))

/** Why workloads cannot begin as images, which `attempt` finds out by an empty one; undefined where they can. */
export const whyWithoutRoots = async (
  directory: string,
  attempt: (root: Root) => Promise<unknown>,
): Promise<string | undefined> => {
  const image = join(directory, "probe")
  try {
    await mkdir(image, { recursive: true, mode: 0o755 })
    await attempt({ kind: "image", directory: image })
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    await rm(image, { recursive: true, force: true })
  }
}

/** Why workloads cannot change the machine's programs for themselves; `attempt` starts one that may, with no settings. */
export const whyWithoutInstalls = async (
  attempt: (settings: string) => Promise<unknown>,
): Promise<string | undefined> => {
  try {
    await attempt("/dev/null")
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** What the operator is told where they cannot. */
export const readOnlyPrograms = (reason: string): string => `computers cannot install software: ${reason}`

/** A folder on the machine's own file system has to be counted. */
export const usedOn = async (source: string): Promise<{ readonly diskBytes?: number }> => {
  const folder = source.startsWith("directory:") ? source.slice("directory:".length) : undefined
  if (folder === undefined) return {}
  const { stdout } = await promisify(execFile)("du", ["-sx", "--block-size=1", folder])
  return { diskBytes: Number.parseInt(stdout, 10) }
}
