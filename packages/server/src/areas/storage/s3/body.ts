/** Requests whose body is read whole, because it is a document and small. */
import { isUtf8 } from "node:buffer"
import type { Call } from "../../../kernel/call.ts"
import { startHashes } from "../../../ports/blob/hashes.ts"
import type { HashName } from "../../../ports/blob/port.ts"
import { checkDigests } from "../rules/checksums.ts"
import { s3Fault } from "./errors.ts"
import { openPayload } from "./payload.ts"

/** Ten thousand parts with their checksums, or a thousand keys with every character escaped. */
const BYTES_MAX = 4 * 1024 * 1024

/** The body as text, once every digest that came with it was found right. */
export const readBody = async (call: Pick<Call, "header" | "signed" | "stream">): Promise<string> => {
  const { source, size, expected, trailing } = openPayload(call)
  if (size > BYTES_MAX) throw s3Fault("MaxMessageLengthExceeded")
  const names = [...(Object.keys(expected) as HashName[]), ...(trailing?.hashes ?? [])]
  const hashes = startHashes(names)
  const chunks: Uint8Array[] = []
  for await (const chunk of source) {
    hashes.update(chunk)
    chunks.push(chunk)
  }
  checkDigests({ ...expected, ...trailing?.expected() }, hashes.digests().asked)
  const body = Buffer.concat(chunks)
  if (!isUtf8(body)) throw s3Fault("MalformedXML")
  return body.toString()
}
