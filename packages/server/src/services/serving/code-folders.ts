import { chmod, link, mkdir, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { newId } from "../../kernel/id.ts"
import { type CodeFile, unpackCode } from "./source.ts"

/** The files of versions that run here, each once on disk, and folders of instances that show them. */
export interface CodeFolders {
  /** An empty folder of an instance. */
  make(instanceId: string): Promise<string>
  /** Puts the files of a version into the folder of an instance. `read` gives its pack where it is not here yet. */
  fill(folder: string, sha256: string, read: () => Promise<Buffer>): Promise<void>
  remove(folder: string): Promise<void>
  /** Removes files of versions that nobody asked for since `before`. */
  sweep(before: number): Promise<void>
}

interface Unpacked {
  readonly folder: string
  readonly files: readonly string[]
}

const READABLE = 0o644
const EXECUTABLE = 0o755

/** Every folder on the way to the files, the nearest to the root first. */
const foldersOf = (paths: readonly string[]): string[] => {
  const folders = new Set<string>()
  for (const path of paths) {
    for (let slash = path.indexOf("/"); slash > 0; slash = path.indexOf("/", slash + 1))
      folders.add(path.slice(0, slash))
  }
  return [...folders].sort()
}

/** Users of workloads must pass, whatever mask this process was started with. */
const makeOpen = async (folder: string): Promise<void> => {
  await mkdir(folder)
  await chmod(folder, EXECUTABLE)
}

const writeFiles = async (folder: string, files: readonly CodeFile[]): Promise<void> => {
  await makeOpen(folder)
  for (const one of foldersOf(files.map(({ path }) => path))) await makeOpen(join(folder, one))
  for (const { path, content, isExecutable } of files) {
    await writeFile(join(folder, path), content, { flag: "wx" })
    await chmod(join(folder, path), isExecutable ? EXECUTABLE : READABLE)
  }
}

/** `root` is this process's own: what another one left there is removed. */
export const openCodeFolders = async (root: string, now: () => number): Promise<CodeFolders> => {
  await rm(root, { recursive: true, force: true })
  const codeDir = join(root, "code")
  const instancesDir = join(root, "instances")
  await mkdir(codeDir, { recursive: true, mode: 0o700 })
  await mkdir(instancesDir, { recursive: true, mode: 0o700 })
  const unpacked = new Map<string, { readonly ready: Promise<Unpacked>; usedMs: number }>()

  const unpack = async (sha256: string, read: () => Promise<Buffer>): Promise<Unpacked> => {
    const files = await unpackCode(await read())
    const folder = join(codeDir, sha256)
    const half = join(codeDir, newId())
    await writeFiles(half, files)
    await rename(half, folder)
    return { folder, files: files.map(({ path }) => path) }
  }

  const find = (sha256: string, read: () => Promise<Buffer>): Promise<Unpacked> => {
    const known = unpacked.get(sha256)
    if (known) {
      known.usedMs = now()
      return known.ready
    }
    const ready = unpack(sha256, read)
    unpacked.set(sha256, { ready, usedMs: now() })
    ready.catch(() => unpacked.delete(sha256))
    return ready
  }

  return {
    async make(instanceId) {
      const folder = join(instancesDir, instanceId)
      await makeOpen(folder)
      return folder
    },
    async fill(folder, sha256, read) {
      const { folder: source, files } = await find(sha256, read)
      for (const one of foldersOf(files)) await makeOpen(join(folder, one))
      // Workloads see the folder read-only, so they may share the files.
      for (const path of files) await link(join(source, path), join(folder, path))
    },
    remove: folder => rm(folder, { recursive: true, force: true }),
    async sweep(before) {
      for (const [sha256, { usedMs, ready }] of unpacked) {
        if (usedMs >= before) continue
        unpacked.delete(sha256)
        await rm((await ready).folder, { recursive: true, force: true })
      }
    },
  }
}
