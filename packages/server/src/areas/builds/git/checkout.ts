/** The files of a commit, or of a folder of it, as they would be checked out. Names in it are a stranger's. */
import { chmod, mkdir, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { Outbound } from "../../../kernel/outbound/outbound.ts"
import { BuildError } from "../build-error.ts"
import { openPack, type Pack } from "./pack.ts"
import { type Found, openRemote, type Wanted } from "./remote.ts"

const ENTRIES_MAX = 200_000
const BYTES_MAX = 4 * 1024 ** 3
const DEPTH_MAX = 100
const OID_BYTES = 20

interface TreeEntry {
  readonly mode: string
  readonly name: string
  readonly oid: string
}

const treeOf = (content: Buffer): TreeEntry[] => {
  const entries: TreeEntry[] = []
  for (let at = 0; at < content.length; ) {
    const blank = content.indexOf(0x20, at)
    const end = content.indexOf(0, blank)
    if (blank < 0 || end < 0 || end + OID_BYTES >= content.length + 1)
      throw new BuildError("a folder of the repository is damaged")
    const [mode, name] = [content.toString("latin1", at, blank), content.toString("utf8", blank + 1, end)]
    at = end + 1 + OID_BYTES
    if (name === "" || name === "." || name === ".." || name.includes("/") || /^\.git$/i.test(name))
      throw new BuildError(`a file of the repository is called ${JSON.stringify(name.slice(0, 100))}`)
    entries.push({ mode, name, oid: content.toString("hex", end + 1, at) })
  }
  return entries
}

const isFolder = ({ mode }: TreeEntry) => mode === "40000" || mode === "040000"

const rootTree = async (pack: Pack, commit: string): Promise<string> => {
  const [, tree] = /^tree ([0-9a-f]{40})\n/.exec((await pack.read(commit, "commit")).toString("latin1")) ?? []
  if (tree === undefined) throw new BuildError("the commit is damaged")
  return tree
}

const folderIn = async (pack: Pack, tree: string, path: string): Promise<string> => {
  let oid = tree
  for (const part of path.split("/").filter(each => each !== "" && each !== ".")) {
    const found = treeOf(await pack.read(oid, "tree")).find(({ name }) => name === part)
    if (!found || !isFolder(found)) throw new BuildError(`the repository has no folder ${path}`)
    oid = found.oid
  }
  return oid
}

const createWriter = (pack: Pack, signal: AbortSignal, say: (text: string) => void) => {
  let [entries, bytes] = [0, 0]

  const writeEntry = async (entry: TreeEntry, path: string) => {
    if (entry.mode === "160000") return say(`${entry.name} is a submodule and stays empty`)
    const content = await pack.read(entry.oid, "blob")
    bytes += content.length
    if (bytes > BYTES_MAX) throw new BuildError("the repository's files have more than 4 GiB")
    if (entry.mode === "120000") return await symlink(content.toString(), path)
    const mode = entry.mode === "100755" ? 0o755 : 0o644
    // Never through a link that is there already: a damaged folder may have a name twice.
    await writeFile(path, content, { flag: "wx", mode })
    await chmod(path, mode)
  }

  const writeTree = async (oid: string, folder: string, depth: number): Promise<void> => {
    if (depth > DEPTH_MAX) throw new BuildError("the repository's folders are nested too deep")
    await mkdir(folder)
    await chmod(folder, 0o755)
    for (const entry of treeOf(await pack.read(oid, "tree"))) {
      signal.throwIfAborted()
      entries += 1
      if (entries > ENTRIES_MAX)
        throw new BuildError("the repository has more than 200,000 files and folders")
      const path = join(folder, entry.name)
      if (isFolder(entry)) await writeTree(entry.oid, path, depth + 1)
      else await writeEntry(entry, path)
    }
  }
  return writeTree
}

const REFUSED_NAMES = new Set(["EEXIST", "ENAMETOOLONG", "ENOENT", "ERR_INVALID_ARG_VALUE"])

/** Into the directory `root`, which is not there yet. */
export const checkOut = async (
  given: {
    readonly outbound: Outbound
    readonly wanted: Wanted
    readonly contextPath: string | null
    readonly packFile: string
    readonly root: string
    readonly say: (text: string) => void
  },
  signal: AbortSignal,
): Promise<Found> => {
  const found = await openRemote(given.outbound, given.wanted, signal).fetch(given.packFile)
  given.say(`commit ${found.commit}`)
  await using pack = await openPack(given.packFile, signal)
  const tree = await folderIn(pack, await rootTree(pack, found.commit), given.contextPath ?? "")
  try {
    await createWriter(pack, signal, given.say)(tree, given.root, 0)
  } catch (error) {
    if (error instanceof Error && "code" in error && REFUSED_NAMES.has(String(error.code)))
      throw new BuildError("a file of the repository has a name twice, or one that cannot be")
    throw error
  }
  return found
}
