/**
 * Trees of strangers on this machine's disk: contexts and roots of images. Nothing in them is followed but links that are
 * resolved as if the tree were the whole world. Nobody writes there meanwhile.
 */
import { createHash } from "node:crypto"
import { createReadStream, lstatSync, readdirSync, readlinkSync, type Stats } from "node:fs"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"
import { BuildError } from "../build-error.ts"
import { partsOf } from "../dockerfile/glob.ts"

const LINKS_MAX = 40
const ENTRIES_MAX = 500_000

const statOf = (path: string): Stats | undefined => {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "ENOTDIR" || code === "ENAMETOOLONG") return undefined
    throw error
  }
}

/** Where a path leads in the tree, links and all, the last name too where `follows`. `..` stays at the top. */
export const resolveIn = (root: string, path: string, follows: boolean): string[] => {
  const left = path.split("/").filter(part => part !== "" && part !== ".")
  let at: string[] = []
  let links = 0
  for (let part = left.shift(); part !== undefined; part = left.shift()) {
    if (part === "..") {
      at.pop()
      continue
    }
    const here = join(root, ...at, part)
    if ((left.length > 0 || follows) && statOf(here)?.isSymbolicLink()) {
      links += 1
      if (links > LINKS_MAX)
        throw new BuildError(`links on the way to ${path.slice(0, 200)} lead in a circle`)
      const target = readlinkSync(here)
      if (target.startsWith("/")) at = []
      left.unshift(...target.split("/").filter(name => name !== "" && name !== "."))
      continue
    }
    at.push(part)
  }
  return at
}

export const statIn = (root: string, parts: readonly string[]): Stats | undefined =>
  statOf(join(root, ...parts))

export interface Node {
  /** Below what was walked; empty for that itself. */
  readonly path: string
  readonly host: string
  readonly stat: Stats
}

/** All below a place, itself first, in the order of the names. `isLeftOut` is asked of paths below the tree's root. */
export const walk = (
  root: string,
  from: readonly string[],
  isLeftOut: (path: string) => boolean = () => false,
): Node[] => {
  const found: Node[] = []
  const visit = (parts: readonly string[], path: string) => {
    const host = join(root, ...parts)
    const stat = statOf(host)
    if (!stat) return
    const isOut = parts.length > 0 && isLeftOut(parts.join("/"))
    const isPlain = stat.isFile() || stat.isDirectory() || stat.isSymbolicLink()
    if (!isOut && isPlain) found.push({ path, host, stat })
    if (found.length > ENTRIES_MAX) throw new BuildError(`a step copies more than ${ENTRIES_MAX} files`)
    // What is below a folder that is left out may be an exception.
    if (!stat.isDirectory()) return
    for (const name of readdirSync(host).sort())
      visit([...parts, name], path === "" ? name : `${path}/${name}`)
  }
  visit(from, "")
  return found
}

export const hashFile = async (path: string): Promise<string> => {
  const hash = createHash("sha256")
  await pipeline(createReadStream(path, { highWaterMark: 2 ** 20 }), hash)
  return hash.digest("hex")
}

/** Of what was walked: names, kinds, modes, owners, links and contents; times do not count. */
export const hashNodes = async (nodes: readonly Node[]): Promise<string> => {
  const hash = createHash("sha256")
  for (const { path, host, stat } of nodes) {
    const content = stat.isFile() ? await hashFile(host) : stat.isSymbolicLink() ? readlinkSync(host) : ""
    hash.update(JSON.stringify([path, stat.mode, stat.uid, stat.gid, content]))
  }
  return hash.digest("hex")
}

/** A path that a Dockerfile names in the context; throws for one that leads out of it. */
export const contextParts = (path: string): string[] => {
  const parts: string[] = []
  for (const part of partsOf(path)) {
    if (part !== "..") parts.push(part)
    else if (parts.pop() === undefined)
      throw new BuildError(`${path.slice(0, 200)} leads out of the build's context`)
  }
  return parts
}
