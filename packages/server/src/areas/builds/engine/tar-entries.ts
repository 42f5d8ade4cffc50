/** Writes archives: entries as blocks of a tar, with what does not fit in a header beside it. */
import { constants } from "node:fs"
import { open } from "node:fs/promises"
import { Header, Pax } from "tar"

export interface Entry {
  /** Without a slash in front. */
  readonly path: string
  readonly kind: "file" | "directory" | "link"
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly mtime: Date
  /** Of a file: where it lies on this machine, or what it has. */
  readonly source?: string | Buffer
  readonly size?: number
  readonly linkpath?: string
}

const BLOCK = 512
const CHUNK = 262_144
const END = Buffer.alloc(2 * BLOCK)
const types = { file: "File", directory: "Directory", link: "SymbolicLink" } as const

const headerOf = ({ path, kind, mode, uid, gid, mtime, size = 0, linkpath }: Entry): Buffer => {
  const fields = {
    path: kind === "directory" ? `${path}/` : path,
    ...{ mode: mode & 0o7777, uid, gid, size: kind === "file" ? size : 0 },
    mtime: new Date(Math.floor(mtime.getTime() / 1000) * 1000),
    ...(linkpath !== undefined && { linkpath }),
  }
  const header = new Header({ ...fields, type: types[kind] })
  const block = Buffer.alloc(BLOCK)
  return header.encode(block) ? Buffer.concat([new Pax(fields).encode(), block]) : block
}

/** The bytes of a file as many as the header says, whoever it was that made it. */
async function* contentOf(source: string, size: number): AsyncGenerator<Buffer> {
  const handle = await open(source, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    let left = size
    while (left > 0) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(Math.min(CHUNK, left)))
      if (bytesRead === 0) throw new Error(`${source} became shorter while it was read`)
      left -= bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await handle.close()
  }
}

export async function* tarOf(entries: Iterable<Entry>): AsyncGenerator<Buffer> {
  for (const entry of entries) {
    yield headerOf(entry)
    const { source, size = 0 } = entry
    if (entry.kind !== "file" || size === 0 || source === undefined) continue
    if (typeof source === "string") yield* contentOf(source, size)
    else yield source
    yield Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK)
  }
  yield END
}
