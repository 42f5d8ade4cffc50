/** The server's key, as ssh2 reads keys. */
import { createHash, type KeyObject } from "node:crypto"

const text = (value: string | Buffer): Buffer => {
  const bytes = Buffer.from(value as string)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}

const TYPE = "ssh-ed25519"
const BLOCK_BYTES = 8

const publicBytes = (key: KeyObject): Buffer =>
  Buffer.concat([text(TYPE), text(Buffer.from(key.export({ format: "jwk" }).x ?? "", "base64url"))])

/** What known_hosts has after the host's name. */
export const publicHostKey = (key: KeyObject): string => `${TYPE} ${publicBytes(key).toString("base64")}`

/** As `ssh-keygen -l` and the question of ssh show it. */
export const hostFingerprint = (key: KeyObject): string =>
  `SHA256:${createHash("sha256").update(publicBytes(key)).digest("base64").replace(/=+$/, "")}`

/** A private Ed25519 key in OpenSSH's own format (PROTOCOL.key), not encrypted. */
export const toOpenSshKey = (key: KeyObject): string => {
  const { x = "", d = "" } = key.export({ format: "jwk" })
  const shared = Buffer.from(x, "base64url")
  const secret = Buffer.concat([Buffer.from(d, "base64url"), shared])
  const known = Buffer.concat([text(TYPE), text(shared)])
  // Two equal numbers first, by which a reader sees that it has the right passphrase.
  const unpadded = Buffer.concat([Buffer.alloc(8), known, text(secret), text("")])
  const padding = Buffer.from(
    Array.from({ length: (BLOCK_BYTES - (unpadded.length % BLOCK_BYTES)) % BLOCK_BYTES }, (_, n) => n + 1),
  )
  const body = Buffer.concat([
    Buffer.from("openssh-key-v1\0"),
    ...[text("none"), text("none"), text(""), Buffer.from([0, 0, 0, 1])],
    ...[text(known), text(Buffer.concat([unpadded, padding]))],
  ])
  return `-----BEGIN OPENSSH PRIVATE KEY-----\n${body.toString("base64")}\n-----END OPENSSH PRIVATE KEY-----\n`
}
