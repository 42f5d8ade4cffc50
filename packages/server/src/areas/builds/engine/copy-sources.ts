/** What COPY and ADD bring: files of the context, of another stage or image, of the Dockerfile itself, or of the web. */
import { hash } from "node:crypto"
import { lstatSync, mkdirSync } from "node:fs"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { BuildError } from "../build-error.ts"
import { hasWildcard, partMatcher } from "../dockerfile/glob.ts"
import type { Heredoc, Instruction } from "../dockerfile/parse.ts"
import { expand, type Variables, words } from "../dockerfile/words.ts"
import { contextParts, hashFile, hashNodes, type Node, resolveIn, statIn, walk } from "./trees.ts"

export interface Tree {
  readonly root: string
  /** Asked of paths below the root. */
  readonly isLeftOut: (path: string) => boolean
  /** Whether owners of its files mean something. */
  readonly hasOwners: boolean
}

export interface Source {
  /** What it is called in a directory. */
  readonly name: string
  readonly isDirectory: boolean
  /** Itself first. */
  readonly nodes: readonly Node[]
  readonly content?: Buffer
  /** Of a file that is not to be as it lies here. */
  readonly mode?: number
  readonly hasOwners: boolean
}

export interface Sources {
  readonly list: readonly Source[]
  /** As written, the variables replaced; the last word is where they go. */
  readonly to: string
  readonly hash: string
}

export interface Fetcher {
  /** Into a file of the folder; gives its path. Throws a BuildError. */
  download(url: string, folder: string): Promise<string>
  /** An archive into a folder that is there and empty. Throws a BuildError. */
  unpack(file: string, folder: string): Promise<void>
}

/** Names that a pattern stands for, each part of the path by itself. */
const expandGlob = async (tree: Tree, pattern: string): Promise<string[][]> => {
  let found: string[][] = [[]]
  for (const part of contextParts(pattern)) {
    if (!hasWildcard(part)) {
      found = found.map(parts => [...parts, part])
      continue
    }
    const matches = partMatcher(part)
    const next: string[][] = []
    for (const parts of found) {
      const at = resolveIn(tree.root, parts.join("/"), true)
      if (!statIn(tree.root, at)?.isDirectory()) continue
      for (const name of (await readdir(join(tree.root, ...at))).sort())
        if (matches(name)) next.push([...parts, name])
    }
    found = next
  }
  return found.filter(parts => statIn(tree.root, resolveIn(tree.root, parts.join("/"), false)))
}

const sourcesIn = async (tree: Tree, pattern: string): Promise<Source[]> => {
  const isPattern = hasWildcard(pattern)
  const places = isPattern ? await expandGlob(tree, pattern) : [contextParts(pattern)]
  const found: Source[] = []
  for (const place of places) {
    const parts = resolveIn(tree.root, place.join("/"), true)
    const stat = statIn(tree.root, parts)
    const nodes = stat ? walk(tree.root, parts, tree.isLeftOut) : []
    const isDirectory = stat?.isDirectory() === true
    const isEmpty = nodes.length === 0 && !(isDirectory && parts.length === 0)
    if (isEmpty && isPattern) continue
    if (isEmpty)
      throw new BuildError(
        `${pattern.slice(0, 200)} is not there, or .dockerignore leaves it out of the build's context`,
      )
    found.push({ name: place.at(-1) ?? "", isDirectory, nodes, hasOwners: tree.hasOwners })
  }
  if (found.length === 0) throw new BuildError(`nothing is called ${pattern.slice(0, 200)}`)
  return found
}

const isUrl = (word: string) => /^https?:\/\//i.test(word)

const fileNode = (host: string): Node => ({ path: "", host, stat: lstatSync(host) })

const fromUrl = async (url: string, folder: string, fetcher: Fetcher): Promise<Source> => {
  const name = decodeURIComponent(new URL(url).pathname.split("/").at(-1) ?? "").replaceAll("/", "") || "file"
  const file = await fetcher.download(url, folder)
  return { name, isDirectory: false, nodes: [fileNode(file)], mode: 0o600, hasOwners: false }
}

const fromHeredoc = ({ name, text, expands }: Heredoc, variables: Variables): Source => {
  // Quotes mean nothing in it.
  const shown = expands ? expand(text.replaceAll(/["']/g, "\\$&"), variables, "\\") : text
  return { name, isDirectory: false, nodes: [], content: Buffer.from(shown), mode: 0o644, hasOwners: false }
}

const isArchive = async (file: string): Promise<boolean> => {
  const { open } = await import("node:fs/promises")
  const handle = await open(file)
  try {
    const { buffer } = await handle.read(Buffer.alloc(512), 0, 512, 0)
    return (
      buffer.subarray(257, 262).toString() === "ustar" ||
      buffer.readUInt16BE(0) === 0x1f8b ||
      buffer.readUInt32BE(0) === 0x28b52ffd
    )
  } finally {
    await handle.close()
  }
}

/** ADD takes archives of the context apart. */
const unpacked = async (source: Source, folder: string, fetcher: Fetcher): Promise<Source> => {
  const [node] = source.nodes
  if (!node?.stat.isFile() || !(await isArchive(node.host))) return source
  const at = join(folder, `added-${hash("sha256", node.host)}`)
  mkdirSync(at)
  try {
    await fetcher.unpack(node.host, at)
  } catch (error) {
    // Compressed, and no archive.
    if (error instanceof BuildError) return source
    throw error
  }
  return { name: source.name, isDirectory: true, nodes: walk(at, []), hasOwners: true }
}

const hashOf = async (sources: readonly Source[]): Promise<string> => {
  const parts: string[] = []
  for (const { name, nodes, content, isDirectory } of sources)
    parts.push(name, String(isDirectory), content ? hash("sha256", content) : await hashNodes(nodes))
  return hash("sha256", JSON.stringify(parts))
}

const checkSum = async (source: Source | undefined, expected: string) => {
  const [node] = source?.nodes ?? []
  const found = node && `sha256:${await hashFile(node.host)}`
  if (found !== expected) throw new BuildError(`what was added is ${found}, not ${expected}`)
}

/** `folder`: for what must be made on the way. */
export const findSources = async (
  instruction: Instruction,
  given: {
    readonly tree: Tree
    readonly variables: Variables
    readonly escaping: string
    readonly folder: string
    readonly fetcher: Fetcher
  },
): Promise<Sources> => {
  const { tree, variables, escaping, folder, fetcher } = given
  const { keyword, json, text, heredocs, line, flags } = instruction
  const named = json?.map(word => expand(word, variables, escaping)) ?? words(text, variables, escaping)
  const to = named.at(-1)
  if (to === undefined || named.length < 2)
    throw new BuildError(`Dockerfile line ${line}: ${keyword} takes what to copy and where to`)
  const list: Source[] = []
  for (const word of named.slice(0, -1)) {
    const heredoc = /^<<-?/.test(word) ? heredocs.find(({ name }) => word.includes(name)) : undefined
    if (heredoc) list.push(fromHeredoc(heredoc, variables))
    else if (keyword === "ADD" && isUrl(word)) list.push(await fromUrl(word, folder, fetcher))
    else
      for (const source of await sourcesIn(tree, word))
        list.push(keyword === "ADD" ? await unpacked(source, folder, fetcher) : source)
  }
  const checksum = flags.find(([name]) => name === "checksum")?.[1]
  if (checksum !== undefined) await checkSum(list[0], checksum)
  return { list, to, hash: await hashOf(list) }
}
