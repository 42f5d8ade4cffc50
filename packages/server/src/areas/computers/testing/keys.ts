import { generateKeyPairSync } from "node:crypto"

const string = (bytes: Buffer): Buffer => {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}

/** A line as in `id_ed25519.pub`. */
export const ed25519Key = (comment: string): string => {
  const { publicKey } = generateKeyPairSync("ed25519")
  const { x = "" } = publicKey.export({ format: "jwk" })
  const blob = Buffer.concat([string(Buffer.from("ssh-ed25519")), string(Buffer.from(x, "base64url"))])
  return `ssh-ed25519 ${blob.toString("base64")} ${comment}`
}
