/** Reads a certificate with those that signed it, and its key, as operators and authorities give them. */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto"

export interface ReadChain {
  /** PEM, nothing else in it. */
  readonly chain: string
  /** PEM, PKCS #8. */
  readonly privateKey: string
  readonly notBefore: Date
  readonly notAfter: Date
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/g
const CHAIN_MAX = 10
const RSA_BITS_MIN = 2048
const CURVES: ReadonlySet<string | undefined> = new Set(["prime256v1", "secp384r1", "secp521r1"])

const parse = (pem: string): X509Certificate | undefined => {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}

const readKey = (pem: string): KeyObject | undefined => {
  try {
    return createPrivateKey(pem)
  } catch {
    return undefined
  }
}

const keyProblem = ({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string | undefined => {
  if (asymmetricKeyType === "rsa")
    return (asymmetricKeyDetails?.modulusLength ?? 0) < RSA_BITS_MIN ? "the RSA key is too short" : undefined
  if (asymmetricKeyType === "ec")
    return CURVES.has(asymmetricKeyDetails?.namedCurve)
      ? undefined
      : "the curve of the key is not used by browsers"
  return asymmetricKeyType === "ed25519" ? undefined : "the key is neither RSA nor of an elliptic curve"
}

const chainProblem = (certificates: readonly X509Certificate[]): string | undefined => {
  for (const [at, certificate] of certificates.entries()) {
    const issuer = certificates[at + 1]
    if (issuer && !(certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey)))
      return `certificate ${at + 1} is not signed by certificate ${at + 2}`
  }
  return undefined
}

/** What browsers would take for that domain, or why they would not. */
export const readChain = (
  given: { readonly chain: string; readonly privateKey: string },
  domain: string,
  nowMs: number,
): ReadChain | string => {
  const pems = given.chain.match(CERTIFICATE) ?? []
  const certificates = pems.map(parse)
  const [leaf] = certificates
  if (!leaf || certificates.includes(undefined)) return "it is no certificate in PEM"
  if (certificates.length > CHAIN_MAX) return `there are more than ${CHAIN_MAX} certificates`
  const key = readKey(given.privateKey)
  if (!key) return "the private key is none in PEM, or has a passphrase"
  if (!leaf.checkPrivateKey(key)) return "the private key is that of another certificate"
  if (leaf.ca) return "the first certificate is that of an authority"
  if (leaf.checkHost(domain, { subject: "never" }) === undefined)
    return `the certificate is not for ${domain}`
  if (leaf.validToDate.getTime() <= nowMs) return "the certificate has expired"
  const problem = keyProblem(key) ?? chainProblem(certificates as X509Certificate[])
  if (problem !== undefined) return problem
  return {
    chain: `${pems.join("\n")}\n`,
    privateKey: String(key.export({ type: "pkcs8", format: "pem" })),
    notBefore: leaf.validFromDate,
    notAfter: leaf.validToDate,
  }
}
