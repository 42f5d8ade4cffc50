/** Disks of workloads that keep nothing: files that are copies of an empty ext4, gone when the workload ends. */
import { execFile } from "node:child_process"
import { chmod, mkdir, open, rm } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { PortError } from "../../../port-error.ts"
import { IMAGE_BYTES_MIN, makeFileSystem } from "./disks.ts"

const run = promisify(execFile)

export interface ScratchDisks {
  /** Gives the path of a new one. */
  make(id: string, bytes: number): Promise<string>
  remove(id: string): Promise<void>
}

interface Extent {
  readonly at: number
  readonly bytes: Buffer
}

/** Of an empty file system: all but its holes, a few hundred kilobytes. */
interface Template {
  readonly size: number
  readonly extents: readonly Extent[]
}

/** Where a sparse file has data: offset and end of each part (SEEK_DATA is 3, SEEK_HOLE 4: lseek(2)). */
const LIST_EXTENTS = `open my $f, "<", $ARGV[0] or die "$!"; my ($from, $to) = (0, 0);
  print $from + 0, " ", ($to = sysseek $f, $from, 4) + 0, "\\n" while defined($from = sysseek $f, $to, 3)`

/** Without a journal, which is for disks that are mounted again after a crash. */
const OPTIONS = ["-O", "^has_journal", "-E", "lazy_itable_init=1,nodiscard"]

const readTemplate = async (path: string, perl: string): Promise<readonly Extent[]> => {
  const { stdout } = await run(perl, ["-e", LIST_EXTENTS, path])
  const file = await open(path, "r")
  try {
    const extents: Extent[] = []
    for (const line of stdout.split("\n").filter(Boolean)) {
      const [at = 0, end = 0] = line.split(" ").map(Number)
      const bytes = Buffer.alloc(end - at)
      await file.read(bytes, 0, bytes.length, at)
      extents.push({ at, bytes })
    }
    return extents
  } finally {
    await file.close()
  }
}

/** `directory` is emptied: no workload outlives its platform. */
export const openScratchDisks = async (directory: string, perl: string): Promise<ScratchDisks> => {
  await rm(directory, { recursive: true, force: true })
  const templates = new Map<number, Promise<Template>>()
  const pathOf = (id: string) => join(directory, id)

  const makeTemplate = async (size: number): Promise<Template> => {
    await mkdir(directory, { recursive: true, mode: 0o700 })
    await chmod(directory, 0o700)
    const path = pathOf(`template-${size}`)
    try {
      await makeFileSystem(path, size, OPTIONS)
      return { size, extents: await readTemplate(path, perl) }
    } finally {
      await rm(path, { force: true })
    }
  }
  const templateOf = (bytes: number): Promise<Template> => {
    const size = Math.max(bytes, IMAGE_BYTES_MIN)
    const known = templates.get(size)
    if (known) return known
    const made = makeTemplate(size)
    templates.set(size, made)
    made.catch(() => templates.delete(size))
    return made
  }

  return {
    async make(id, bytes) {
      try {
        const { size, extents } = await templateOf(bytes)
        const file = await open(pathOf(id), "wx", 0o600)
        try {
          await file.truncate(size)
          for (const extent of extents) await file.write(extent.bytes, 0, extent.bytes.length, extent.at)
        } finally {
          await file.close()
        }
        return pathOf(id)
      } catch (error) {
        await rm(pathOf(id), { force: true })
        throw new PortError("unavailable", `the disk of workload ${id} cannot be made`, error)
      }
    },
    remove: id => rm(pathOf(id), { force: true }),
  }
}
