/** Archives for tests, also ones that no honest program writes. */
import { Header } from "tar"

export interface TestEntry {
  readonly path: string
  readonly type?: "File" | "Directory" | "SymbolicLink" | "Link" | "CharacterDevice" | "BlockDevice" | "FIFO"
  readonly content?: string | Buffer
  readonly linkpath?: string
  readonly mode?: number
  readonly uid?: number
  readonly gid?: number
}

const BLOCK = 512
const MODIFIED_AT = new Date("2020-01-02T03:04:05Z")

const blocksOf = (bytes: Buffer): Buffer =>
  Buffer.concat([bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)])

export const tarOf = (...entries: readonly TestEntry[]): Buffer => {
  const parts = entries.map(({ path, type = "File", content = "", linkpath, mode, uid = 0, gid = 0 }) => {
    const body = Buffer.from(content)
    const header = new Header({
      ...{ path, type, uid, gid, mtime: MODIFIED_AT, size: type === "File" ? body.length : 0 },
      mode: mode ?? (type === "Directory" ? 0o755 : 0o644),
      ...(linkpath !== undefined && { linkpath }),
    })
    const block = Buffer.alloc(BLOCK)
    if (header.encode(block)) throw new Error(`${path} is too long for a test`)
    return type === "File" ? Buffer.concat([block, blocksOf(body)]) : block
  })
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)])
}
