/** Forms of browsers (RFC 7578), read as they come: small fields, and behind them one file that is never whole in memory. */
import { s3Fault } from "./errors.ts"

const FIELDS_MAX = 100
/** Of all fields together, their names included: S3's limit. */
const FIELDS_BYTES_MAX = 20 * 1024
const HEAD_BYTES_MAX = 8 * 1024
const HEAD_END = Buffer.from("\r\n\r\n")

export interface Form {
  /** By names in lower case; of a name that comes twice, the first. */
  readonly fields: ReadonlyMap<string, string>
  readonly file: { readonly name: string; readonly bytes: AsyncIterable<Uint8Array> }
}

const malformed = (reason: string) => s3Fault("MalformedPOSTRequest", reason)

/** What comes before a delimiter, and goes on behind it. */
class Cutter {
  readonly #chunks: AsyncIterator<Uint8Array>
  #rest = Buffer.alloc(0)

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#chunks = source[Symbol.asyncIterator]()
  }

  async #more(): Promise<void> {
    const { value, done } = await this.#chunks.next()
    if (done) throw malformed("it ends too early")
    this.#rest = Buffer.concat([this.#rest, value])
  }

  async take(bytes: number): Promise<Buffer> {
    while (this.#rest.length < bytes) await this.#more()
    const taken = this.#rest.subarray(0, bytes)
    this.#rest = this.#rest.subarray(bytes)
    return taken
  }

  async until(delimiter: Buffer, bytesMax: number): Promise<Buffer> {
    for (;;) {
      const at = this.#rest.indexOf(delimiter)
      if ((at < 0 ? this.#rest.length - delimiter.length : at) > bytesMax)
        throw s3Fault("MaxPostPreDataLengthExceededError")
      if (at >= 0) return (await this.take(at + delimiter.length)).subarray(0, at)
      await this.#more()
    }
  }

  async *streamUntil(delimiter: Buffer): AsyncGenerator<Uint8Array> {
    for (;;) {
      const at = this.#rest.indexOf(delimiter)
      // A part of the delimiter may be at the end.
      const ready = at >= 0 ? at : Math.max(0, this.#rest.length - delimiter.length + 1)
      if (ready > 0) yield await this.take(ready)
      if (at >= 0) return
      await this.#more()
    }
  }

  /** What is behind the file says nothing, and is read so that the connection can go on. */
  async drain(): Promise<void> {
    this.#rest = Buffer.alloc(0)
    for (;;) if ((await this.#chunks.next()).done) return
  }
}

const boundaryOf = (contentType: string | undefined): string => {
  const [, quotedText, plain] =
    /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType ?? "") ?? []
  const boundary = quotedText ?? plain
  if (boundary === undefined || !/^multipart\/form-data\b/i.test(contentType ?? ""))
    throw malformed("the content type is multipart/form-data with a boundary")
  return boundary
}

const readHead = (head: string): { readonly name: string; readonly fileName: string } => {
  const disposition = head.split("\r\n").find(line => /^content-disposition:/i.test(line)) ?? ""
  const value = (field: string) => new RegExp(`;\\s*${field}="([^"]*)"`, "i").exec(disposition)?.[1]
  const name = value("name")
  if (name === undefined) throw malformed("a part has no name")
  return { name: name.toLowerCase(), fileName: value("filename") ?? "" }
}

export const readForm = async (
  source: AsyncIterable<Uint8Array>,
  contentType: string | undefined,
): Promise<Form> => {
  const delimiter = Buffer.from(`\r\n--${boundaryOf(contentType)}`)
  const cutter = new Cutter(source)
  const fields = new Map<string, string>()
  let left = FIELDS_BYTES_MAX
  // The first delimiter has no line before it.
  await cutter.until(delimiter.subarray(2), HEAD_BYTES_MAX)
  for (let count = 0; count <= FIELDS_MAX; count++) {
    if ((await cutter.take(2)).toString() === "--") throw malformed("it has no file")
    const head = await cutter.until(HEAD_END, HEAD_BYTES_MAX)
    const { name, fileName } = readHead(`\r\n${head.toString()}`)
    if (name === "file") {
      const bytes = (async function* () {
        yield* cutter.streamUntil(delimiter)
        await cutter.drain()
      })()
      return { fields, file: { name: fileName, bytes } }
    }
    const value = await cutter.until(delimiter, left)
    left -= value.length + name.length
    if (!fields.has(name)) fields.set(name, value.toString())
  }
  throw malformed("it has too many fields")
}
