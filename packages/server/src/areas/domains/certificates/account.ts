/** The key of the installation's account with an authority (RFC 8555, 6.2), and what it signs. */
import { createECDH, createHash, createPrivateKey, type KeyObject, sign } from "node:crypto"

export interface AccountKey {
  readonly jwk: Readonly<Record<string, string>>
  /** RFC 7638. */
  readonly thumbprint: string
  sign(header: Readonly<Record<string, unknown>>, payload: string): string
}

const encode = (text: string): string => Buffer.from(text).toString("base64url")

/** The same key in every process that has the secret, and nowhere on disk. */
export const accountKeyOf = (secret: Buffer): AccountKey => {
  const ecdh = createECDH("prime256v1")
  ecdh.setPrivateKey(secret)
  const point = ecdh.getPublicKey()
  const part = (start: number) => point.subarray(start, start + 32).toString("base64url")
  // In the order in which a thumbprint names them.
  const jwk = { crv: "P-256", kty: "EC", x: part(1), y: part(33) }
  const key: KeyObject = createPrivateKey({
    format: "jwk",
    key: { ...jwk, d: ecdh.getPrivateKey("base64url") },
  })
  return {
    jwk,
    thumbprint: createHash("sha256").update(JSON.stringify(jwk)).digest("base64url"),
    sign(header, payload) {
      const head = encode(JSON.stringify({ alg: "ES256", ...header }))
      const body = payload === "" ? "" : encode(payload)
      const signature = sign("sha256", Buffer.from(`${head}.${body}`), { key, dsaEncoding: "ieee-p1363" })
      return JSON.stringify({ protected: head, payload: body, signature: signature.toString("base64url") })
    },
  }
}
