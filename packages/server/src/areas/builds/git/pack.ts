/** A pack of git in a file: objects by their names. One object and those that it is a difference to are in memory at a time. */
import { createHash } from "node:crypto"
import { type FileHandle, open } from "node:fs/promises"
import { inflate } from "node:zlib"
import { LRUCache } from "lru-cache"
import { BuildError } from "../build-error.ts"

const HEADER_BYTES = 12
const TRAILER_BYTES = 20
const OBJECTS_MAX = 500_000
const OBJECT_BYTES_MAX = 256 * 1024 ** 2
const KEPT_BYTES = 32 * 1024 ** 2
const KINDS: Readonly<Record<number, string>> = { 1: "commit", 2: "tree", 3: "blob", 4: "tag" }
const [OFFSET_DELTA, NAMED_DELTA] = [6, 7]

export interface GitObject {
  readonly kind: string
  readonly content: Buffer
}

interface Entry {
  readonly kind: string | undefined
  readonly size: number
  readonly dataAt: number
  /** What it is a difference to: a place in the file, or a name. */
  readonly base: number | string | undefined
}

const damaged = () => new BuildError("the pack of the repository's server is damaged")

/** Zlib tells how much of its input it took only where it is asked for more than types know. */
const inflated = (input: Buffer, size: number): Promise<{ content: Buffer; taken: number }> =>
  new Promise((resolve, reject) => {
    const options = { info: true, maxOutputLength: Math.max(size, 1) }
    inflate(input, options, (error, result: unknown) => {
      if (error) return reject(damaged())
      const { buffer, engine } = result as { buffer: Buffer; engine: { bytesWritten: number } }
      if (buffer.length !== size) return reject(damaged())
      resolve({ content: buffer, taken: engine.bytesWritten })
    })
  })

const createCursor = (bytes: Buffer, start = 0) => {
  let at = start
  const byte = (): number => {
    const value = bytes[at]
    if (value === undefined) throw damaged()
    at += 1
    return value
  }
  return {
    byte,
    at: () => at,
    /** Seven bits in a byte, the lowest first. */
    number(value = 0, scale = 1): number {
      for (let factor = scale; ; factor *= 128) {
        const next = byte()
        value += (next & 0x7f) * factor
        if (next < 0x80) return value
        if (factor > 2 ** 42) throw damaged()
      }
    },
    take(length: number): Buffer {
      at += length
      if (at > bytes.length) throw damaged()
      return bytes.subarray(at - length, at)
    },
    isAtEnd: () => at >= bytes.length,
  }
}

const applied = (base: Buffer, delta: Buffer): Buffer => {
  const cursor = createCursor(delta)
  if (cursor.number() !== base.length) throw damaged()
  const size = cursor.number()
  if (size > OBJECT_BYTES_MAX) throw damaged()
  const result = Buffer.alloc(size)
  let at = 0
  const put = (part: Buffer) => {
    if (at + part.length > size) throw damaged()
    at += part.copy(result, at)
  }
  while (!cursor.isAtEnd()) {
    const code = cursor.byte()
    if (code === 0) throw damaged()
    if (code < 0x80) {
      put(cursor.take(code))
      continue
    }
    const bits = (from: number, count: number) => {
      let value = 0
      for (let bit = 0; bit < count; bit += 1)
        if (code & (1 << (from + bit))) value += cursor.byte() * 256 ** bit
      return value
    }
    const offset = bits(0, 4)
    const length = bits(4, 3) || 0x10000
    if (offset + length > base.length) throw damaged()
    put(base.subarray(offset, offset + length))
  }
  if (at !== size) throw damaged()
  return result
}

const readEntryHead = (bytes: Buffer, offset: number): Entry => {
  const cursor = createCursor(bytes)
  const first = cursor.byte()
  const type = (first >> 4) & 7
  const size = first < 0x80 ? first & 15 : cursor.number(first & 15, 16)
  if (size > OBJECT_BYTES_MAX) throw new BuildError("the repository has a file of more than 256 MiB")
  let base: number | string | undefined
  if (type === OFFSET_DELTA) {
    let next = cursor.byte()
    let back = next & 0x7f
    while (next >= 0x80) {
      next = cursor.byte()
      back = (back + 1) * 128 + (next & 0x7f)
    }
    base = offset - back
  } else if (type === NAMED_DELTA) base = cursor.take(20).toString("hex")
  else if (KINDS[type] === undefined) throw damaged()
  return { kind: KINDS[type], size, dataAt: offset + cursor.at(), base }
}

const nameOf = ({ kind, content }: GitObject): string =>
  createHash("sha1").update(`${kind} ${content.length}\0`).update(content).digest("hex")

export const openPack = async (path: string, signal: AbortSignal) => {
  const file: FileHandle = await open(path)
  const { size: fileSize } = await file.stat()
  const entries = new Map<number, Entry>()
  const places = new Map<string, number>()
  const kept = new LRUCache<number, GitObject>({
    maxSize: KEPT_BYTES,
    sizeCalculation: ({ content }) => content.length + 1,
  })

  const bytesAt = async (position: number, length: number): Promise<Buffer> => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position)
    return buffer.subarray(0, bytesRead)
  }

  const dataOf = async ({ dataAt, size }: Entry) => {
    // What cannot be made smaller becomes a little larger.
    const longest = Math.min(size + Math.ceil(size / 500) + 1_024, fileSize - dataAt)
    return await inflated(await bytesAt(dataAt, longest), size)
  }

  const placeOf = (base: number | string): number | undefined =>
    typeof base === "number" ? base : places.get(base)

  /** By a loop: chains of differences may be long. Undefined where a base is not known yet. */
  const objectAt = async (offset: number): Promise<GitObject | undefined> => {
    const chain: number[] = []
    let found: GitObject | undefined
    for (let at: number | undefined = offset; found === undefined; ) {
      if (at === undefined) return undefined
      const entry: Entry | undefined = entries.get(at)
      if (!entry || chain.length > OBJECTS_MAX) throw damaged()
      found = kept.get(at)
      if (found) break
      if (entry.base === undefined) {
        found = { kind: entry.kind ?? "", content: (await dataOf(entry)).content }
        kept.set(at, found)
      } else {
        chain.push(at)
        at = placeOf(entry.base)
      }
    }
    for (const at of chain.reverse()) {
      const entry = entries.get(at)
      if (!entry) throw damaged()
      found = { kind: found.kind, content: applied(found.content, (await dataOf(entry)).content) }
      kept.set(at, found)
    }
    return found
  }

  const index = async () => {
    const header = await bytesAt(0, HEADER_BYTES)
    if (header.length < HEADER_BYTES || header.toString("latin1", 0, 4) !== "PACK") throw damaged()
    const count = header.readUInt32BE(8)
    if (count > OBJECTS_MAX) throw new BuildError("the repository has more than 500,000 files and folders")
    const deltas: number[] = []
    let at = HEADER_BYTES
    for (let number = 0; number < count; number += 1) {
      signal.throwIfAborted()
      if (at >= fileSize - TRAILER_BYTES) throw damaged()
      const entry = readEntryHead(await bytesAt(at, 64), at)
      const { content, taken } = await dataOf(entry)
      entries.set(at, entry)
      if (entry.kind === undefined) deltas.push(at)
      else places.set(nameOf({ kind: entry.kind, content }), at)
      at = entry.dataAt + taken
    }
    for (let waiting = deltas; waiting.length > 0; ) {
      const unknown: number[] = []
      for (const place of waiting) {
        signal.throwIfAborted()
        const object = await objectAt(place)
        if (object) places.set(nameOf(object), place)
        else unknown.push(place)
      }
      if (unknown.length === waiting.length) throw damaged()
      waiting = unknown
    }
  }

  try {
    await index()
  } catch (error) {
    await file.close()
    throw error
  }
  return {
    /** Throws a BuildError for one that is not there, or is of another kind. */
    async read(name: string, kind: string): Promise<Buffer> {
      const place = places.get(name)
      const object = place === undefined ? undefined : await objectAt(place)
      if (object?.kind !== kind) throw damaged()
      return object.content
    },
    [Symbol.asyncDispose]: () => file.close(),
  }
}

export type Pack = Awaited<ReturnType<typeof openPack>>
