/** COPY, ADD and WORKDIR as entries of a layer. */
import { readlinkSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join, posix } from "node:path"
import { BuildError } from "../build-error.ts"
import type { Source, Sources } from "./copy-sources.ts"
import type { Entry } from "./tar-entries.ts"
import { type Node, resolveIn, statIn } from "./trees.ts"

export interface Owner {
  readonly uid: number
  readonly gid: number
}

export interface CopyOptions {
  /** Undefined: the source's own, or root. */
  readonly owner: Owner | undefined
  readonly mode: number | undefined
}

const ID_MAX = 65_535
const FILE_BYTES_MAX = 1024 ** 2
const ROOT: Owner = { uid: 0, gid: 0 }

const readIn = async (root: string, path: string): Promise<string> => {
  const parts = resolveIn(root, path, true)
  const stat = statIn(root, parts)
  if (!stat?.isFile() || stat.size > FILE_BYTES_MAX) return ""
  return await readFile(join(root, ...parts), "utf8")
}

/** The number behind a name in /etc/passwd or /etc/group, and of a user his group. */
const lookUp = async (root: string, file: string, name: string): Promise<readonly number[] | undefined> => {
  for (const line of (await readIn(root, file)).split("\n")) {
    const [found, , id, group] = line.split(":")
    if (found === name) return [Number(id), Number(group)]
  }
  return undefined
}

const idOf = (text: string): number | undefined => {
  if (!/^\d{1,10}$/.test(text)) return undefined
  if (Number(text) > ID_MAX) throw new BuildError(`${text} is no user here: they are 0 to ${ID_MAX}`)
  return Number(text)
}

/** `user[:group]`, names or numbers, as the image in `root` knows them. A user alone has the group that `alone` says. */
export const ownerOf = async (
  root: string,
  text: string,
  alone: "own group" | "same number",
): Promise<Owner> => {
  const [user = "", group] = text.split(":", 2)
  const known = idOf(user) === undefined ? await lookUp(root, "etc/passwd", user) : undefined
  const uid = idOf(user) ?? known?.[0]
  if (uid === undefined) throw new BuildError(`the image has no user ${user.slice(0, 100)}`)
  if (group === undefined || group === "")
    return { uid, gid: alone === "same number" ? uid : (known?.[1] ?? 0) }
  const gid = idOf(group) ?? (await lookUp(root, "etc/group", group))?.[0]
  if (gid === undefined) throw new BuildError(`the image has no group ${group.slice(0, 100)}`)
  return { uid, gid }
}

/** Directories on the way to a place that the image does not have yet. */
const missing = (root: string, parts: readonly string[], at: Date, owner: Owner): Entry[] => {
  const entries: Entry[] = []
  for (let depth = 1; depth <= parts.length; depth += 1) {
    const above = parts.slice(0, depth)
    const stat = statIn(root, above)
    if (stat?.isDirectory()) continue
    if (stat) throw new BuildError(`/${above.join("/")} is in the way, which is no directory`)
    entries.push({ path: above.join("/"), kind: "directory", mode: 0o755, ...owner, mtime: at })
  }
  return entries
}

const entryOf = (node: Node, path: string, source: Source, { owner, mode }: CopyOptions): Entry => {
  const { host, stat } = node
  const ids = owner ?? (source.hasOwners ? { uid: stat.uid, gid: stat.gid } : ROOT)
  const common = { path, ...ids, mtime: stat.mtime }
  if (stat.isSymbolicLink()) return { ...common, kind: "link", mode: 0o777, linkpath: readlinkSync(host) }
  const bits = mode ?? source.mode ?? stat.mode & 0o7777
  if (stat.isDirectory()) return { ...common, kind: "directory", mode: bits }
  return { ...common, kind: "file", mode: bits, source: host, size: stat.size }
}

const below = (parts: readonly string[], path: string): string =>
  [...parts, ...(path === "" ? [] : [path])].join("/")

const directoryEntries = (
  root: string,
  to: readonly string[],
  source: Source,
  options: CopyOptions,
  at: Date,
): Entry[] => {
  const [own, ...others] = source.nodes
  const entries = missing(root, to, own?.stat.mtime ?? at, options.owner ?? ROOT)
  const inside = own?.path === "" ? others : source.nodes
  return [...entries, ...inside.map(node => entryOf(node, below(to, node.path), source, options))]
}

const fileEntries = (
  root: string,
  to: readonly string[],
  source: Source,
  options: CopyOptions,
  at: Date,
): Entry[] => {
  const entries = missing(root, to.slice(0, -1), at, options.owner ?? ROOT)
  const [node] = source.nodes
  if (node) return [...entries, entryOf(node, to.join("/"), source, options)]
  const { content = Buffer.alloc(0), mode = 0o644 } = source
  const made = { path: to.join("/"), kind: "file", mode: options.mode ?? mode, mtime: at } as const
  return [...entries, { ...made, ...(options.owner ?? ROOT), source: content, size: content.length }]
}

/** `root`: the image so far. */
export const copyEntries = (
  root: string,
  workdir: string,
  { list, to }: Sources,
  options: CopyOptions,
  at: Date,
): Entry[] => {
  const path = posix.resolve("/", workdir, to)
  const place = resolveIn(root, path, true)
  const isDirectory =
    to.endsWith("/") || to === "." || to.endsWith("/.") || statIn(root, place)?.isDirectory() === true
  if (list.length > 1 && !isDirectory)
    throw new BuildError(`what several files are copied to ends with a slash: ${to.slice(0, 200)}/`)
  const entries = list.flatMap(source => {
    if (source.isDirectory) return directoryEntries(root, place, source, options, at)
    return fileEntries(root, isDirectory ? [...place, source.name] : place, source, options, at)
  })
  // A directory that two sources need is made once.
  return [...new Map(entries.map(entry => [entry.path, entry])).values()]
}

export const workdirEntries = (root: string, path: string, at: Date): Entry[] =>
  missing(root, resolveIn(root, path, true), at, ROOT)
