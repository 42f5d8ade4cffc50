/** Keys of WireGuard: X25519, in base64. */
import { createPrivateKey, createPublicKey, generateKeyPairSync } from "node:crypto"

export interface KeyPair {
  readonly privateKey: string
  readonly publicKey: string
}

const KEY_BYTES = 32
/** What stands before the 32 bytes in PKCS #8 (RFC 8410). */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b656e04220420", "hex")

const publicKeyOf = (privateKey: Buffer): string => {
  const key = createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, privateKey]),
    format: "der",
    type: "pkcs8",
  })
  return createPublicKey(key).export({ format: "der", type: "spki" }).subarray(-KEY_BYTES).toString("base64")
}

/** As `wg genkey` and `wg pubkey` make them: clamped, so that every program shows the same text. */
export const generateKeyPair = (): KeyPair => {
  const { privateKey } = generateKeyPairSync("x25519")
  const bytes = privateKey.export({ format: "der", type: "pkcs8" }).subarray(-KEY_BYTES)
  bytes[0] = (bytes[0] ?? 0) & 248
  bytes[31] = ((bytes[31] ?? 0) & 127) | 64
  return { privateKey: bytes.toString("base64"), publicKey: publicKeyOf(bytes) }
}

/** Whether it is 32 bytes in base64, not all of them zero. */
export const isPublicKey = (text: string): boolean => {
  const bytes = Buffer.from(text, "base64")
  return bytes.length === KEY_BYTES && bytes.toString("base64") === text && bytes.some(byte => byte !== 0)
}
