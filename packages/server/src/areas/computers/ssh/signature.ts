/** Whether a client holds the private half of the key that it offers. */
import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto"
import type { PublicKeyAuthContext, utils } from "ssh2"
import { sshStrings } from "../ssh-keys.ts"

/** Somebody touched the device (PROTOCOL.u2f of OpenSSH). */
const USER_PRESENT = 0x01
const ED25519_BYTES = 64

const sha256 = (bytes: Buffer): Buffer => createHash("sha256").update(bytes).digest()

const ed25519Of = (bytes: Buffer): KeyObject =>
  createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: bytes.toString("base64url") }, format: "jwk" })

/** A point that is not compressed: 4, then both coordinates. */
const p256Of = (point: Buffer): KeyObject => {
  const x = point.subarray(1, 33).toString("base64url")
  const y = point.subarray(33).toString("base64url")
  return createPublicKey({ key: { kty: "EC", crv: "P-256", x, y }, format: "jwk" })
}

/** A number as IEEE P1363 has it: 32 bytes, without the sign's. */
const fixed = (number: Buffer): Buffer => {
  const digits = number.subarray(Math.max(0, number.length - 32))
  return Buffer.concat([Buffer.alloc(32 - digits.length), digits])
}

/** The signature itself, and after it flags and counter of the device. */
const splitSecurityKey = (type: string, signature: Buffer): { made: Buffer; device: Buffer } | undefined => {
  const made = signature.subarray(0, signature.length - 5)
  const device = signature.subarray(signature.length - 5)
  if (type.startsWith("sk-ssh-ed25519")) return made.length === ED25519_BYTES ? { made, device } : undefined
  const [r, s, ...others] = sshStrings(made) ?? []
  if (!r || !s || others.length > 0) return undefined
  return { made: Buffer.concat([fixed(r), fixed(s)]), device }
}

/** Keys on a device (FIDO) sign what it says of itself, and a digest of what they are to sign. */
const verifySecurityKey = (type: string, key: Buffer, signature: Buffer, signed: Buffer): boolean => {
  const isEd25519 = type.startsWith("sk-ssh-ed25519")
  const fields = sshStrings(key) ?? []
  const [point, application] = isEd25519 ? fields.slice(1) : fields.slice(2)
  const split = splitSecurityKey(type, signature)
  if (!point || !application || !split || ((split.device[0] ?? 0) & USER_PRESENT) === 0) return false
  const said = Buffer.concat([sha256(application), split.device, sha256(signed)])
  return isEd25519
    ? verify(null, said, ed25519Of(point), split.made)
    : verify("sha256", said, { key: p256Of(point), dsaEncoding: "ieee-p1363" }, split.made)
}

/** Keys of the types that records take; RSA not with SHA-1. */
export const isSignedBy = (
  { key: { algo, data }, signature, blob, hashAlgo }: PublicKeyAuthContext,
  parseKey: typeof utils.parseKey,
): boolean => {
  if (!signature || !blob || algo === "ssh-dss" || (algo === "ssh-rsa" && hashAlgo === undefined))
    return false
  try {
    if (algo.startsWith("sk-")) return verifySecurityKey(algo, data, signature, blob)
    const key = parseKey(`${algo} ${data.toString("base64")}`)
    return !(key instanceof Error) && key.type === algo && key.verify(blob, signature, hashAlgo) === true
  } catch {
    return false
  }
}
