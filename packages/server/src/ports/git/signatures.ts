/** How providers sign, compared in constant time. */
import { createHmac, timingSafeEqual } from "node:crypto"

const isEqual = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)

/** Whether the text is the hexadecimal HMAC-SHA256 of the body, after a prefix such as `sha256=`. */
export const isHexHmac = (
  body: Buffer,
  secret: string,
  given: string | undefined,
  prefix: string,
): boolean => {
  const expected = `${prefix}${createHmac("sha256", secret).update(body).digest("hex")}`
  return given !== undefined && isEqual(Buffer.from(expected), Buffer.from(given))
}

/** Whether the text is the secret itself. Hashed first, so that not even its length can be told. */
export const isSecret = (secret: string, given: string | undefined): boolean => {
  const digest = (text: string) => createHmac("sha256", "compare").update(text).digest()
  return given !== undefined && isEqual(digest(secret), digest(given))
}

/** How far the time of a signature may be from ours (Standard Webhooks 1.0.0). */
const TOLERANCE_MS = 300_000
const SECRET_PREFIX = "whsec_"

export interface StandardSignature {
  readonly id: string | undefined
  readonly timestamp: string | undefined
  readonly signature: string | undefined
}

/**
 * Standard Webhooks 1.0.0 (github.com/standard-webhooks/standard-webhooks): `v1,` and base64 of HMAC-SHA256 over
 * `id.timestamp.body`, several of them with spaces between. The key is what the secret's base64 says after `whsec_`.
 */
export const isStandardSigned = (
  body: Buffer,
  secret: string,
  { id, timestamp, signature }: StandardSignature,
  nowMs: number,
): boolean => {
  if (id === undefined || timestamp === undefined || signature === undefined) return false
  if (!/^\d{1,12}$/.test(timestamp)) return false
  if (Math.abs(Number(timestamp) * 1_000 - nowMs) > TOLERANCE_MS) return false
  const key = secret.startsWith(SECRET_PREFIX)
    ? Buffer.from(secret.slice(SECRET_PREFIX.length), "base64")
    : secret
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64")
  return signature
    .split(" ")
    .some(candidate => isEqual(Buffer.from(`v1,${expected}`), Buffer.from(candidate)))
}
