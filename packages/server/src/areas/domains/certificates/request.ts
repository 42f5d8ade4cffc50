import { createPrivateKey, webcrypto } from "node:crypto"

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const

/** A new key, PEM, and a request for a certificate of it, as ACME sends it. */
export const newRequest = async (domain: string): Promise<{ csr: string; privateKey: string }> => {
  const x509 = await import("@peculiar/x509")
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"])
  const request = await x509.Pkcs10CertificateRequestGenerator.create({
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [new x509.SubjectAlternativeNameExtension([{ type: "dns", value: domain }])],
  })
  const key = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey))
  return {
    csr: Buffer.from(request.rawData).toString("base64url"),
    privateKey: String(
      createPrivateKey({ key, format: "der", type: "pkcs8" }).export({ type: "pkcs8", format: "pem" }),
    ),
  }
}
