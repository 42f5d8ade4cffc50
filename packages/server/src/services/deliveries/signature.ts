import { createHmac, createSecretKey, type KeyObject, randomBytes } from "node:crypto"
import { createBoundedCache } from "../../kernel/bounded-cache.ts"

/**
 * Signatures of Standard Webhooks 1.0.0 (github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md):
 * `v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`.
 */

const PREFIX = "whsec_"
const SECRET_BYTES = 32
/** What the specification allows. */
const SECRET_BYTES_MIN = 24
const SECRET_BYTES_MAX = 64

/** A new secret: `whsec_` and base64 of 32 random bytes. */
export const createSigningSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString("base64")

const keyOf = (secret: string): Buffer => Buffer.from(secret.slice(PREFIX.length), "base64")

/** Signing with a key that was made before takes 3 µs, and 20 with one that is made for it. */
const KEYS_MAX = 10_000
const keys = createBoundedCache<KeyObject>(KEYS_MAX)

const madeKeyOf = (secret: string): KeyObject => {
  const known = keys.get(secret)
  if (known) return known
  const key = createSecretKey(keyOf(secret))
  keys.set(secret, key)
  return key
}

/**
 * A secret that somebody gives, with the prefix that it may lack; or why it cannot be used. Libraries for Standard
 * Webhooks decode what they are given as base64, so text of another kind could not be verified with them.
 */
export const readSigningSecret = (
  given: string,
): { readonly secret: string } | { readonly problem: string } => {
  const secret = given.startsWith(PREFIX) ? given : PREFIX + given
  const key = keyOf(secret)
  if (key.toString("base64") !== secret.slice(PREFIX.length)) {
    return { problem: "secret: give base64 with padding, with or without whsec_ in front" }
  }
  if (key.length < SECRET_BYTES_MIN || key.length > SECRET_BYTES_MAX) {
    const problem = `secret: it is base64 of ${key.length} bytes; ${SECRET_BYTES_MIN} to ${SECRET_BYTES_MAX} are allowed`
    return { problem }
  }
  return { secret }
}

/** What a record shows of a secret that is never shown again. */
export const signingSecretHint = (secret: string): string => secret.slice(-4)

/** The value of `webhook-signature`: one signature for each secret, in their order. */
export const signatureOf = (
  secrets: readonly string[],
  { id, timestamp, body }: { readonly id: string; readonly timestamp: number; readonly body: string },
): string =>
  secrets
    .map(secret =>
      createHmac("sha256", madeKeyOf(secret)).update(`${id}.${timestamp}.${body}`).digest("base64"),
    )
    .map(signature => `v1,${signature}`)
    .join(" ")
