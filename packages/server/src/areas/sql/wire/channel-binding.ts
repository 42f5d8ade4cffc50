/** What ties a login to the TLS connection that it is made in: a hash of the server's certificate (RFC 5929). */
import { createHash, X509Certificate } from "node:crypto"

/** By the last word of a signature algorithm's name: `ecdsa-with-SHA256`, `sha384WithRSAEncryption`. */
const HASH = /sha-?(?:3-)?\d+|md5/i

/** RFC 5929: weak hashes are replaced by SHA-256. */
const hashOf = (signatureAlgorithm: string): string | undefined => {
  const name = HASH.exec(signatureAlgorithm)?.[0].toLowerCase().replace("-", "")
  return name === "md5" || name === "sha1" ? "sha256" : name
}

/**
 * The data of the binding `tls-server-end-point` for the first certificate of a PEM file; undefined when its signature
 * does not name one hash (Ed25519, RSA-PSS), for which the binding is not defined.
 */
export const endPointBinding = (pem: string): Buffer | undefined => {
  const { signatureAlgorithm, raw } = new X509Certificate(pem)
  const hash = signatureAlgorithm === undefined ? undefined : hashOf(signatureAlgorithm)
  return hash === undefined ? undefined : createHash(hash).update(raw).digest()
}
