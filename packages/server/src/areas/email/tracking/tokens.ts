/** What links in mails say, so that nobody else can make one. */
import { createHmac, timingSafeEqual } from "node:crypto"
import type { Recipient } from "../delivery.ts"

export type TokenKind = "open" | "click" | "unsubscribe"

const CODES: Readonly<Record<TokenKind, number>> = { open: 1, click: 2, unsubscribe: 3 }
const ID_BYTES = 16
const MAC_BYTES = 16
const HEAD_BYTES = 1 + 2 * ID_BYTES
/** In hexadecimal, because mail servers may change upper and lower case: 80 bits. */
const PATH_MAC_LENGTH = 20

const idBytes = (id: string): Buffer => Buffer.from(id.replaceAll("-", ""), "hex")

const idText = (bytes: Buffer): string => {
  const hex = bytes.toString("hex")
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-")
}

const macOf = (secret: Buffer, head: Buffer, url: Buffer): Buffer =>
  createHmac("sha256", secret)
    .update("svc-mail-link-1")
    .update(head)
    .update(url)
    .digest()
    .subarray(0, MAC_BYTES)

/** Base64url of `kind | organization | recipient | MAC | URL`. */
export const signToken = (secret: Buffer, kind: TokenKind, recipient: Recipient, url = ""): string => {
  const { organizationId, recipientId } = recipient
  const head = Buffer.concat([Buffer.from([CODES[kind]]), idBytes(organizationId), idBytes(recipientId)])
  const rest = Buffer.from(url)
  return Buffer.concat([head, macOf(secret, head, rest), rest]).toString("base64url")
}

export interface Token extends Recipient {
  readonly url: string
  /** Whether this secret signed it. */
  isSignedBy(secret: Buffer): boolean
}

/** Undefined for what is no token of this kind. It means nothing before its signature was checked. */
export const readToken = (kind: TokenKind, text: string): Token | undefined => {
  const bytes = Buffer.from(text, "base64url")
  // One spelling for one token.
  if (bytes.length < HEAD_BYTES + MAC_BYTES || bytes.toString("base64url") !== text) return undefined
  if (bytes[0] !== CODES[kind]) return undefined
  const head = bytes.subarray(0, HEAD_BYTES)
  const rest = bytes.subarray(HEAD_BYTES + MAC_BYTES)
  const mac = bytes.subarray(HEAD_BYTES, HEAD_BYTES + MAC_BYTES)
  return {
    organizationId: idText(bytes.subarray(1, 1 + ID_BYTES)),
    recipientId: idText(bytes.subarray(1 + ID_BYTES, HEAD_BYTES)),
    url: rest.toString(),
    isSignedBy: secret => timingSafeEqual(mac, macOf(secret, head, rest)),
  }
}

const pathMac = (secret: Buffer, recipientId: string): string =>
  createHmac("sha256", secret)
    .update(`svc-return-path-1|${recipientId}`)
    .digest("hex")
    .slice(0, PATH_MAC_LENGTH)

/** `bounce+<id>.<mac>`: within the 64 characters of a local part. */
export const returnPathLocal = (secret: Buffer, recipientId: string): string =>
  `bounce+${recipientId.replaceAll("-", "")}.${pathMac(secret, recipientId)}`

const LOCAL = /^bounce\+([0-9a-f]{32})\.([0-9a-f]{20})$/i

export interface ReturnPath {
  readonly recipientId: string
  isSignedBy(secret: Buffer): boolean
}

export const readReturnPath = (local: string): ReturnPath | undefined => {
  const [, hex, mac] = LOCAL.exec(local) ?? []
  if (hex === undefined || mac === undefined) return undefined
  const recipientId = idText(Buffer.from(hex, "hex"))
  return {
    recipientId,
    isSignedBy: secret =>
      timingSafeEqual(Buffer.from(mac.toLowerCase()), Buffer.from(pathMac(secret, recipientId))),
  }
}
