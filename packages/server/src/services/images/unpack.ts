/**
 * Lays the layers of an image over each other in one directory (OCI image specification 1.1, layer.md). The layers are
 * strangers' archives: no name or link in them reaches past the directory, for each part of each way is looked at and
 * links are resolved in the image as if it were the whole world. Nobody else writes there meanwhile.
 */
import * as fs from "node:fs"
import { open } from "node:fs/promises"
import { join } from "node:path"
import { createGunzip, createZstdDecompress } from "node:zlib"
import { Parser, type ReadEntry } from "tar"
import { ImageError } from "./image-error.ts"

export interface UnpackLimits {
  /** Of all layers, uncompressed. */
  readonly bytesMax: number
  readonly entriesMax: number
}

const LINKS_MAX = 40
const PATH_BYTES_MAX = 4096
const NAME_BYTES_MAX = 255
/** Users of a workload are 0 to 65535; 65534 is nobody. */
const USERS = 65_536
const NOBODY = 65_534
const CHUNK_BYTES = 262_144
const [WHITEOUT, OPAQUE, RESERVED] = [".wh.", ".wh..wh..opq", ".wh..wh."]
const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = fs.constants
const NEW_FILE = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW

type Parts = readonly string[]

/** The way that a name tells, from the image's root. Throws for one that leads out of it. */
const partsOf = (path: string): Parts => {
  const parts = path.split("/").filter(part => part !== "" && part !== ".")
  if (parts.includes(".."))
    throw new ImageError(`a layer names ${path.slice(0, 200)}, which leads out of the image`)
  if (path.includes("\0") || Buffer.byteLength(path) > PATH_BYTES_MAX)
    throw new ImageError("a layer has a name that no file can have")
  if (parts.some(part => Buffer.byteLength(part) > NAME_BYTES_MAX))
    throw new ImageError("a layer has a name that is too long")
  return parts
}

const statOf = (path: string): fs.Stats | undefined => fs.lstatSync(path, { throwIfNoEntry: false })

/** Finds directories below `root`, links and all, without leaving it; makes those that are missing. */
const createDirectories = (root: string) => {
  // What was found is true until something is removed.
  const known = new Map<string, string>()

  const walk = (parts: Parts): string => {
    const left = [...parts]
    let at: string[] = []
    let links = 0
    for (let part = left.shift(); part !== undefined; part = left.shift()) {
      if (part === "..") {
        at.pop()
        continue
      }
      const path = join(root, ...at, part)
      const stat = statOf(path)
      if (stat?.isSymbolicLink()) {
        links += 1
        if (links > LINKS_MAX) throw new ImageError("links of the image lead in a circle")
        const target = fs.readlinkSync(path)
        if (target.startsWith("/")) at = []
        left.unshift(...target.split("/").filter(name => name !== "" && name !== "."))
        continue
      }
      if (!stat) fs.mkdirSync(path, 0o755)
      else if (!stat.isDirectory())
        throw new ImageError(`${parts.join("/").slice(0, 200)} goes through something that is no directory`)
      at.push(part)
    }
    return join(root, ...at)
  }

  return {
    at(parts: Parts): string {
      const key = parts.join("/")
      const found = known.get(key) ?? walk(parts)
      known.set(key, found)
      return found
    },
    forget: () => known.clear(),
  }
}

/** What a layer has brought itself: its own whiteouts do not hide it. */
const createBrought = (root: string) => {
  const brought = new Set<string>()
  return {
    add(path: string) {
      for (let at = path; at.length > root.length && !brought.has(at); at = join(at, "..")) brought.add(at)
    },
    has: (path: string) => brought.has(path),
  }
}

const isRoot = process.getuid?.() === 0

const own = (entry: ReadEntry, change: (uid: number, gid: number) => void): void => {
  if (!isRoot) return
  const id = (value: number | undefined) =>
    value !== undefined && value >= 0 && value < USERS ? value : value === undefined ? 0 : NOBODY
  change(id(entry.uid), id(entry.gid))
}

/** The entry's bytes into a new file. */
export const writeFile = (entry: ReadEntry, path: string, failed: (error: unknown) => void): void => {
  const fd = fs.openSync(path, NEW_FILE, 0o600)
  let isOpen = true
  const close = () => {
    if (isOpen) fs.closeSync(fd)
    isOpen = false
  }
  const guarded = (act: () => void) => {
    try {
      if (isOpen) act()
    } catch (error) {
      close()
      failed(error)
    }
  }
  entry.on("data", (chunk: Buffer) =>
    guarded(() => {
      for (let at = 0; at < chunk.length; ) at += fs.writeSync(fd, chunk, at)
    }),
  )
  entry.on("end", () =>
    guarded(() => {
      own(entry, (uid, gid) => fs.fchownSync(fd, uid, gid))
      // Set-user-id bits are dropped, so that running a file does not change the user.
      fs.fchmodSync(fd, (entry.mode ?? 0o644) & 0o777)
      const at = entry.mtime ?? new Date(0)
      fs.futimesSync(fd, at, at)
      close()
    }),
  )
}

const createLayer = (root: string, failed: (error: unknown) => void) => {
  const directories = createDirectories(root)
  const brought = createBrought(root)

  const remove = (path: string) => {
    fs.rmSync(path, { recursive: true, force: true })
    directories.forget()
  }
  /** All below a directory that layers before this one brought. */
  const hide = (path: string): void => {
    for (const name of fs.readdirSync(path)) {
      const below = join(path, name)
      if (!brought.has(below)) remove(below)
      else if (statOf(below)?.isDirectory()) hide(below)
    }
  }
  const whiteOut = (path: string, name: string): void => {
    if (name === OPAQUE) hide(path)
    if (name.startsWith(RESERVED)) return
    const hidden = name.slice(WHITEOUT.length)
    if (partsOf(hidden).length !== 1) throw new ImageError("a layer removes what no name is")
    const target = join(path, hidden)
    if (!brought.has(target)) remove(target)
    else if (statOf(target)?.isDirectory()) hide(target)
  }

  const linkTo = (target: string, path: string): void => {
    const parts = partsOf(target)
    const name = parts.at(-1)
    const from = name === undefined ? root : join(directories.at(parts.slice(0, -1)), name)
    const stat = statOf(from)
    if (!stat || stat.isDirectory())
      throw new ImageError(`a layer links to ${target.slice(0, 200)}, which it has not`)
    fs.linkSync(from, path)
  }

  const makeDirectory = (entry: ReadEntry, path: string): void => {
    if (!statOf(path)) fs.mkdirSync(path, 0o755)
    own(entry, (uid, gid) => fs.chownSync(path, uid, gid))
    const mode = (entry.mode ?? 0o755) & 0o1777
    fs.chmodSync(path, isRoot ? mode : mode | 0o700)
  }

  const makeLink = (entry: ReadEntry, path: string): void => {
    const target = entry.linkpath ?? ""
    if (target === "" || Buffer.byteLength(target) > PATH_BYTES_MAX)
      throw new ImageError("a layer has an empty link")
    fs.symlinkSync(target, path)
    own(entry, (uid, gid) => fs.lchownSync(path, uid, gid))
  }

  const place = (entry: ReadEntry, path: string): void => {
    const isDirectory = entry.type === "Directory" || entry.type === "GNUDumpDir"
    const stat = statOf(path)
    if (stat && !(isDirectory && stat.isDirectory())) remove(path)
    brought.add(path)
    if (isDirectory) makeDirectory(entry, path)
    else if (entry.type === "Link") linkTo(entry.linkpath ?? "", path)
    else if (entry.type === "SymbolicLink") makeLink(entry, path)
    else writeFile(entry, path, failed)
  }

  const kinds = new Set([
    "File",
    "OldFile",
    "ContiguousFile",
    "Link",
    "SymbolicLink",
    "Directory",
    "GNUDumpDir",
  ])

  return (entry: ReadEntry): void => {
    const parts = partsOf(entry.path)
    const name = parts.at(-1)
    if (name === undefined) {
      if (entry.type === "Directory") makeDirectory(entry, root)
    } else if (name.startsWith(WHITEOUT)) {
      whiteOut(directories.at(parts.slice(0, -1)), name)
    } else if (kinds.has(entry.type)) {
      place(entry, join(directories.at(parts.slice(0, -1)), name))
    }
    // Devices and pipes are left out: a workload has those that it may have.
    entry.resume()
  }
}

const decoderOf = async (file: string) => {
  const handle = await open(file)
  try {
    const { buffer } = await handle.read(Buffer.alloc(4), 0, 4, 0)
    if (buffer.readUInt16BE(0) === 0x1f8b) return createGunzip({ chunkSize: CHUNK_BYTES })
    if (buffer.readUInt32BE(0) === 0x28b52ffd) return createZstdDecompress({ chunkSize: CHUNK_BYTES })
    return undefined
  } finally {
    await handle.close()
  }
}

/** Entries of an archive that may be compressed; `take` must consume each. Gives the bytes of all. */
export const readArchive = async (
  file: string,
  { bytesMax, entriesMax }: UnpackLimits,
  take: (entry: ReadEntry, failed: (error: unknown) => void) => void,
): Promise<{ bytes: number; entries: number }> => {
  let failure: unknown
  const failed = (error: unknown) => {
    failure ??= error
  }
  const counted = { bytes: 0, entries: 0 }
  const parser = new Parser({
    ...{ strict: true, brotli: false, zstd: false },
    onReadEntry(entry) {
      counted.entries += 1
      if (counted.entries > entriesMax)
        failed(new ImageError("the image has more files than are allowed here"))
      if (failure !== undefined) return entry.resume()
      try {
        take(entry, failed)
      } catch (error) {
        failed(error)
        entry.resume()
      }
    },
  })
  const done = Promise.withResolvers<void>()
  parser.on("error", error => {
    failed(new ImageError(`an archive of the image cannot be read: ${error.message}`))
    done.resolve()
  })
  parser.on("end", done.resolve)
  let isAtEnd = false
  parser.on("eof", () => {
    isAtEnd = true
  })
  const source = fs.createReadStream(file, { highWaterMark: CHUNK_BYTES })
  const decoder = await decoderOf(file)
  if (decoder) source.on("error", error => decoder.destroy(error)).pipe(decoder)
  try {
    for await (const chunk of (decoder ?? source) as AsyncIterable<Buffer>) {
      // The parser would take an archive within an archive apart, without a bound.
      if (counted.bytes === 0 && chunk.length > 1 && chunk.readUInt16BE(0) === 0x1f8b)
        throw new ImageError("a layer is compressed twice")
      counted.bytes += chunk.length
      if (counted.bytes > bytesMax) throw new ImageError("the image is larger than is allowed here")
      parser.write(chunk)
      if (failure !== undefined) throw failure
      // What comes after is nothing, and the parser would keep it.
      if (isAtEnd) break
    }
  } catch (error) {
    if (error instanceof ImageError || (error as NodeJS.ErrnoException).syscall !== undefined) throw error
    throw new ImageError(`a layer cannot be uncompressed: ${error instanceof Error ? error.message : error}`)
  } finally {
    source.destroy()
    decoder?.destroy()
  }
  // The parser takes one without entries for none.
  if (isAtEnd && counted.entries === 0) return counted
  parser.end()
  await done.promise
  if (failure !== undefined) throw failure
  return counted
}

/** Unpacks layers, lowest first, into a directory that is there and empty. Gives their bytes, uncompressed. */
export const unpackLayers = async (
  files: readonly string[],
  root: string,
  { bytesMax, entriesMax }: UnpackLimits,
): Promise<number> => {
  let [bytes, entries] = [0, 0]
  for (const file of files) {
    let layer: ((entry: ReadEntry) => void) | undefined
    const left = { bytesMax: bytesMax - bytes, entriesMax: entriesMax - entries }
    const counted = await readArchive(file, left, (entry, failed) => {
      layer ??= createLayer(root, failed)
      layer(entry)
    })
    bytes += counted.bytes
    entries += counted.entries
  }
  return bytes
}

/** Whether everybody in the image may work in this directory of it, which is made if it is missing. */
export const isOpenToAll = (root: string, path: string): boolean => {
  const real = createDirectories(root).at(partsOf(path))
  for (let at = real; at.length >= root.length; at = join(at, ".."))
    if (((statOf(at)?.mode ?? 0) & 1) === 0) return false
  return true
}
