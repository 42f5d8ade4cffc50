/** Signatures of mails (RFC 6376): rsa-sha256, relaxed/relaxed. The costly part runs in a thread of libuv's pool. */
import { createHash, createPrivateKey, type KeyObject, sign } from "node:crypto"
import { promisify } from "node:util"
import { createBoundedCache } from "../../../kernel/bounded-cache.ts"
import type { Signer } from "../delivery.ts"

export type DkimSigner = Pick<Signer, "domain" | "selector" | "privateKey">

const SIGNED_HEADERS: ReadonlySet<string> = new Set([
  ...["from", "reply-to", "subject", "date", "message-id", "to", "cc", "mime-version", "content-type"],
  ...["content-transfer-encoding", "in-reply-to", "references", "list-id"],
  ...["list-unsubscribe", "list-unsubscribe-post"],
])
const LINE_LENGTH_MAX = 72
const KEYS_MAX = 1_000

const signAsync = promisify(sign)
const keys = createBoundedCache<KeyObject>(KEYS_MAX)

const keyOf = (pem: string): KeyObject => {
  const known = keys.get(pem)
  if (known) return known
  const key = createPrivateKey(pem)
  keys.set(pem, key)
  return key
}

/** RFC 6376, 3.4.2; the field without its name. */
const relaxedValue = (value: string): string =>
  value
    .replace(/\r\n/g, "")
    .replace(/[ \t]+/g, " ")
    .trim()

/** RFC 6376, 3.4.4. */
const relaxedBody = (body: string): string => {
  const lines = body
    .replace(/[ \t]+/g, " ")
    .replace(/ \r\n/g, "\r\n")
    .replace(/ $/, "")
  // A regular expression would look at every run of empty lines once for each of them.
  let end = lines.length
  while (lines.endsWith("\r\n", end)) end -= 2
  return end === 0 ? "" : `${lines.slice(0, end)}\r\n`
}

const fieldsOf = (head: string): { name: string; value: string }[] =>
  head.split(/\r\n(?![ \t])/).flatMap(line => {
    const colon = line.indexOf(":")
    return colon < 1 ? [] : [{ name: line.slice(0, colon).toLowerCase(), value: line.slice(colon + 1) }]
  })

const folded = (base64: string): string =>
  base64.match(new RegExp(`.{1,${LINE_LENGTH_MAX}}`, "g"))?.join("\r\n ") ?? ""

/** The mail with its signature in front. `atSeconds` is the time of signing. */
export const signMail = async (content: Buffer, signer: DkimSigner, atSeconds: number): Promise<Buffer> => {
  const end = content.indexOf("\r\n\r\n")
  // Characters stand for bytes here, so that nothing is decoded and encoded again.
  const head = content.toString("latin1", 0, end < 0 ? content.length : end)
  const body = end < 0 ? "" : content.toString("latin1", end + 4)
  // From the last of a name to its first: the order in which verifiers take them.
  const signed = fieldsOf(head)
    .filter(({ name }) => SIGNED_HEADERS.has(name))
    .reverse()
  const bodyHash = createHash("sha256").update(relaxedBody(body), "latin1").digest("base64")
  // From is named once more than it is there, so that nobody can put another in front.
  const names = [...signed.map(({ name }) => name), "from"]
  const field =
    ` v=1; a=rsa-sha256; c=relaxed/relaxed; d=${signer.domain}; s=${signer.selector};\r\n` +
    ` t=${atSeconds}; h=${names.join(":\r\n  ")};\r\n bh=${bodyHash};\r\n b=`
  const lines = signed.map(({ name, value }) => `${name}:${relaxedValue(value)}\r\n`)
  const input = `${lines.join("")}dkim-signature:${relaxedValue(field)}`
  const signature = await signAsync("sha256", Buffer.from(input, "latin1"), keyOf(signer.privateKey))
  const header = `DKIM-Signature:${field}${folded(signature.toString("base64"))}\r\n`
  return Buffer.concat([Buffer.from(header, "latin1"), content])
}
