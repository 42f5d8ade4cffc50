/** What a signed URL says, and how it says it so that nobody can make it say something else. */
import { createHmac, timingSafeEqual } from "node:crypto"

/** One letter each: they travel in every URL. */
export interface Grant {
  /** GET, which HEAD goes with, or PUT. */
  readonly m: "GET" | "PUT"
  readonly b: string
  /** Unix seconds. */
  readonly e: number
  /** The API key that made it, or the signed-in person. */
  readonly c?: string
  readonly u?: string
  /** Content type that must come. */
  readonly t?: string
  /** Bytes that must come. */
  readonly l?: number
  /** Bytes that may come. */
  readonly x?: number
  /** SHA-256 in base64 that the content must have. */
  readonly s?: string
  /** 0: nothing may be there yet. */
  readonly o?: 0
  /** Headers of the reply: disposition and type. */
  readonly d?: string
  readonly y?: string
}

interface Key {
  readonly id: string
  readonly secret: Buffer
}

/** The object's key is signed along, though it travels in the path, where people can read it. */
const macOf = ({ id, secret }: Key, payload: string, objectKey: string): Buffer =>
  createHmac("sha256", secret).update(`svc-signed-url-1\n${id}\n${payload}\n${objectKey}`).digest()

export const signGrant = (key: Key, grant: Grant, objectKey: string): string => {
  const payload = Buffer.from(JSON.stringify(grant)).toString("base64url")
  return [key.id, payload, macOf(key, payload, objectKey).toString("base64url")].join(".")
}

const TOKEN = /^([0-9a-f-]{36})\.([\w-]+)\.([\w-]{43})$/

export interface Token {
  readonly keyId: string
  readonly payload: string
  readonly mac: Buffer
}

export const parseToken = (text: string): Token | undefined => {
  const [, keyId, payload, mac] = TOKEN.exec(text) ?? []
  if (keyId === undefined || payload === undefined || mac === undefined) return undefined
  const bytes = Buffer.from(mac, "base64url")
  // One spelling for one signature.
  return bytes.toString("base64url") === mac ? { keyId, payload, mac: bytes } : undefined
}

/** The grant, when the key signed exactly this for exactly that object. */
export const readGrant = (key: Key, { payload, mac }: Token, objectKey: string): Grant | undefined =>
  timingSafeEqual(mac, macOf(key, payload, objectKey))
    ? JSON.parse(Buffer.from(payload, "base64url").toString())
    : undefined

/**
 * A key as the rest of a path. Slashes stay as they are, unless a segment is one that URL parsers would resolve or
 * some servers merge.
 */
export const pathOf = (key: string): string => {
  const segments = key.split("/")
  return segments.some(segment => segment === "." || segment === ".." || segment === "")
    ? encodeURIComponent(key)
    : segments.map(encodeURIComponent).join("/")
}
