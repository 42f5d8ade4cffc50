/** The framing of git's protocol: lines that begin with their length in four hexadecimal digits. */
import { BuildError } from "../build-error.ts"

export const FLUSH = "0000"
export const DELIMITER = "0001"
const HEAD = 4

export const pktLine = (text: string): string =>
  (Buffer.byteLength(text) + HEAD).toString(16).padStart(HEAD, "0") + text

/** Each line's bytes; the name of the marker where it is one. */
export const readPktLines = async function* (
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<Buffer | "marker"> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of body) {
    rest = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk])
    while (rest.length >= HEAD) {
      const digits = rest.toString("latin1", 0, HEAD)
      if (!/^[0-9a-f]{4}$/i.test(digits)) throw new BuildError("the repository's server does not speak git")
      const length = Number.parseInt(digits, 16)
      if (length < HEAD) {
        rest = rest.subarray(HEAD)
        yield "marker"
        continue
      }
      if (rest.length < length) break
      yield rest.subarray(HEAD, length)
      rest = rest.subarray(length)
    }
  }
  if (rest.length > 0) throw new BuildError("the answer of the repository's server ends in the middle")
}
