/** Where the disks of workloads are, one folder for each; and which users of the machine are theirs. */
import { execFile } from "node:child_process"
import { chmod, mkdir, open, readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { PortError } from "../../../port-error.ts"

export interface Disk {
  /** For the launcher: `file:` and an ext4 image, or `directory:` and a folder. */
  readonly source: string
  readonly slot: number
}

export interface Disks {
  prepare(id: string, bytes: number): Promise<Disk>
  erase(id: string): Promise<void>
  list(): Promise<readonly string[]>
}

/** Of an ext4 with a journal. */
export const IMAGE_BYTES_MIN = 16 * 2 ** 20
const MKFS_MS_MAX = 60_000
const OPTIONS = ["-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard"]

/** Numbers of users that are in use, and the lowest that is not. */
export interface Slots {
  take(): number
  claim(slot: number): void
  free(slot: number): void
}

export const createSlots = (slotsMax: number): Slots => {
  const taken = new Set<number>()
  let next = 0
  return {
    take() {
      for (let tried = 0; tried < slotsMax; tried += 1) {
        const slot = next
        next = (next + 1) % slotsMax
        if (taken.has(slot)) continue
        taken.add(slot)
        return slot
      }
      throw new PortError("unavailable", "there are no users left for another workload")
    },
    claim: slot => void taken.add(slot),
    free: slot => void taken.delete(slot),
  }
}

/** An ext4 in a new file. */
export const makeFileSystem = async (
  path: string,
  bytes: number,
  options: readonly string[],
): Promise<void> => {
  const file = await open(path, "wx", 0o600)
  try {
    await file.truncate(Math.max(bytes, IMAGE_BYTES_MIN))
  } finally {
    await file.close()
  }
  const all = ["-q", "-F", "-m", "0", ...options, path]
  await promisify(execFile)("mkfs.ext4", all, { timeout: MKFS_MS_MAX })
}

const slotIn = async (folder: string): Promise<number | undefined> => {
  const text = await readFile(join(folder, "slot"), "utf8").catch(() => undefined)
  return text === undefined ? undefined : Number(text)
}

/** `images`: a disk is a file system of its own, which holds as much as it should and no more. */
export const openDisks = async (options: {
  directory: string
  slots: Slots
  images: boolean
}): Promise<Disks> => {
  const { directory, slots, images } = options
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await chmod(directory, 0o700)
  for (const name of await readdir(directory)) {
    // Half made when a process ended.
    if (name.startsWith("svc-")) await rm(join(directory, name), { recursive: true, force: true })
    const slot = await slotIn(join(directory, name))
    if (slot !== undefined) slots.claim(slot)
  }

  const make = async (id: string, bytes: number): Promise<void> => {
    const folder = join(directory, `svc-${id}`)
    const slot = slots.take()
    try {
      await mkdir(folder, { mode: 0o700 })
      await writeFile(join(folder, "slot"), String(slot))
      if (images) await makeFileSystem(join(folder, "disk.ext4"), bytes, OPTIONS)
      else await mkdir(join(folder, "disk"), { mode: 0o755 })
      await rename(folder, join(directory, id))
    } catch (error) {
      slots.free(slot)
      await rm(folder, { recursive: true, force: true })
      throw new PortError("unavailable", `the disk of workload ${id} cannot be made`, error)
    }
  }

  return {
    async prepare(id, bytes) {
      const folder = join(directory, id)
      if ((await slotIn(folder)) === undefined) await make(id, bytes)
      const slot = await slotIn(folder)
      if (slot === undefined) throw new PortError("unavailable", `the disk of workload ${id} cannot be read`)
      const isImage = (await readdir(folder)).includes("disk.ext4")
      return {
        slot,
        source: isImage ? `file:${join(folder, "disk.ext4")}` : `directory:${join(folder, "disk")}`,
      }
    },
    async erase(id) {
      const folder = join(directory, id)
      const slot = await slotIn(folder)
      await rm(folder, { recursive: true, force: true })
      if (slot !== undefined) slots.free(slot)
    },
    async list() {
      return (await readdir(directory)).filter(name => !name.startsWith("svc-"))
    },
  }
}
