import { execFile } from "node:child_process"
import { constants } from "node:fs"
import { chown, copyFile, mkdir, mkdtemp, open, readdir, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import type { Account } from "../../../../kernel/db/embedded/account.ts"
import { CHILD_ENVIRONMENT } from "../../../../kernel/db/embedded/processes.ts"
import { errorCode } from "../../../../kernel/startup-error.ts"
import { PortError } from "../../../port-error.ts"

/** More at once keep the disk no busier, and hold more memory. */
const FILES_AT_ONCE = 16

export interface CopyOptions {
  /** Who shall own the copy; undefined: we do. */
  readonly owner: Account | undefined
  /** Who owns the original, when a server of that user may be at work in it. */
  readonly source?: Account | undefined
  /** By path relative to the source. A folder that is skipped is not made either. */
  readonly skip?: (path: string) => boolean
  /** Nothing is at work in the original, so that all of it must be there. */
  readonly isStill?: boolean
  /** By path relative to the source: copied after everything else. */
  readonly last?: (path: string) => boolean
}

interface Entry {
  readonly path: string
  readonly isDirectory: boolean
}

/** Files come and go in the folder of a running server; one that went is not part of the copy. */
const absentIsFine = (error: unknown): void => {
  if (errorCode(error) !== "ENOENT") throw error
}

const neverFine = (error: unknown): void => {
  throw error
}

interface Walk {
  readonly root: string
  readonly skip: (path: string) => boolean
  /** Throws unless something that is not there may be left out. */
  readonly allowAbsent: (error: unknown) => void
}

const walk = async (how: Walk, under = ""): Promise<Entry[]> => {
  const { root, skip, allowAbsent } = how
  const entries = await readdir(join(root, under), { withFileTypes: true }).catch(error => {
    allowAbsent(error)
    return []
  })
  const found = entries
    .map(entry => ({
      path: join(under, entry.name),
      isDirectory: entry.isDirectory(),
      isFile: entry.isFile(),
    }))
    // No sockets, and no links: tablespaces are not supported, and a link could lead anywhere.
    .filter(({ path, isDirectory, isFile }) => (isDirectory || isFile) && !skip(path))
  const nested = await Promise.all(
    found.filter(({ isDirectory }) => isDirectory).map(({ path }) => walk(how, path)),
  )
  return [...found, ...nested.flat()]
}

/** Does the same to all, to a bounded number at a time. When it settles nothing is under way any more. */
export const inParallel = async <A>(items: readonly A[], act: (item: A) => Promise<void>): Promise<void> => {
  let next = 0
  const lane = async () => {
    try {
      while (next < items.length) await act(items[next++] as A)
    } catch (error) {
      next = items.length
      throw error
    }
  }
  const ended = await Promise.allSettled(Array.from({ length: FILES_AT_ONCE }, lane))
  const failure = ended.find(({ status }) => status === "rejected")
  if (failure?.status === "rejected") throw failure.reason
}

/**
 * Copies one file. We may be root, and a server that was taken over could put a link where a file was: what is opened
 * must belong to the server's own user, whatever path led to it.
 */
const copyOwned = async (from: string, to: string, source: Account | undefined): Promise<void> => {
  if (source === undefined || process.platform !== "linux") {
    return copyFile(from, to, constants.COPYFILE_FICLONE)
  }
  const file = await open(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const stat = await file.stat()
    if (!stat.isFile() || stat.uid !== source.uid)
      throw new PortError("refused", `${from} is not a file of its database`)
    await copyFile(`/proc/self/fd/${file.fd}`, to, constants.COPYFILE_FICLONE)
  } finally {
    await file.close()
  }
}

/**
 * Copies a folder into one that does not exist yet. Where the file system can, copies share their blocks with the
 * original until either changes.
 */
export const copyTree = async (from: string, to: string, options: CopyOptions): Promise<void> => {
  const { owner, source, isStill, skip = () => false, last = () => false } = options
  const allowAbsent = isStill ? neverFine : absentIsFine
  const own = async (path: string) => {
    if (owner) await chown(path, owner.uid, owner.gid)
  }
  const entries = await walk({ root: from, skip, allowAbsent })
  await mkdir(to, { mode: 0o700 })
  await own(to)
  for (const { path } of entries.filter(({ isDirectory }) => isDirectory)) {
    await mkdir(join(to, path), { mode: 0o700 })
    await own(join(to, path))
  }
  const copyOne = async ({ path }: Entry) => {
    const target = join(to, path)
    await copyOwned(join(from, path), target, source)
      .then(() => own(target))
      .catch(allowAbsent)
  }
  const files = entries.filter(({ isDirectory }) => !isDirectory)
  await inParallel(
    files.filter(({ path }) => !last(path)),
    copyOne,
  )
  await inParallel(
    files.filter(({ path }) => last(path)),
    copyOne,
  )
}

export const REFLINK_PROBE = ".reflink-"

/** Whether files in this folder can share blocks. */
export const canReflink = async (directory: string): Promise<boolean> => {
  const folder = await mkdtemp(join(directory, REFLINK_PROBE))
  try {
    await writeFile(join(folder, "a"), "block")
    await copyFile(join(folder, "a"), join(folder, "b"), constants.COPYFILE_FICLONE_FORCE)
    return true
  } catch {
    return false
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Brings everything written in this folder's file system to disk: one call, where an fsync a file would be a thousand. */
export const syncFileSystem = async (directory: string): Promise<void> => {
  const run = promisify(execFile)
  await run("sync", ["-f", directory], { env: CHILD_ENVIRONMENT }).catch(() =>
    run("sync", [], { env: CHILD_ENVIRONMENT }),
  )
}
