import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from "node:crypto"

const CIPHER = "aes-256-gcm"
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Bytes that a sealed text has more than its plaintext. */
export const SEAL_BYTES = NONCE_BYTES + TAG_BYTES

/**
 * AES-256-GCM (NIST SP 800-38D) under a random nonce: `nonce (12 bytes) | ciphertext | tag (16 bytes)`. The key must
 * not be used 2^32 times.
 */
export const seal = (key: KeyObject, associated: string, plaintext: Uint8Array): Buffer => {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
  cipher.setAAD(Buffer.from(associated))
  const ciphertext = cipher.update(plaintext)
  cipher.final()
  return Buffer.concat([nonce, ciphertext, cipher.getAuthTag()])
}

/** Undefined when key, associated text or a single bit differ from what was sealed. */
export const open = (key: KeyObject, associated: string, sealed: Uint8Array): Buffer | undefined => {
  if (sealed.length < SEAL_BYTES) return undefined
  const decipher = createDecipheriv(CIPHER, key, sealed.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(Buffer.from(associated))
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  const plaintext = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES))
  try {
    decipher.final()
    return plaintext
  } catch {
    return undefined
  }
}
