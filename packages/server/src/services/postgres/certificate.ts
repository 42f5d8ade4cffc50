/**
 * Certificates for the PostgreSQL port of an operator who has none. An authority of the installation signs them, so that
 * clients trust it once and every renewed certificate after. Its key comes from a secret that each process of the
 * installation has, so it is nowhere on disk.
 */
import {
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  webcrypto,
  X509Certificate,
} from "node:crypto"
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"

/** PEM. */
export interface Certificate {
  readonly key: string
  readonly cert: string
}

export interface OwnCertificate extends Certificate {
  /** The authority's certificate, PEM. */
  readonly ca: string
}

const DAY_MS = 86_400_000
const VALID_DAYS = 397
const AUTHORITY_VALID_DAYS = 3_650
/** Made anew this long before its end. */
const RENEW_BEFORE_MS = 30 * DAY_MS
/** What clients trust has to outlive what it signs. */
const RENEW_AUTHORITY_BEFORE_MS = (VALID_DAYS + 30) * DAY_MS
const KEY_FILE = "wire.key"
const CERTIFICATE_FILE = "wire.crt"
const AUTHORITY_FILE = "wire-ca.crt"
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const

const authorityKeyOf = (secret: Buffer): KeyObject => {
  const ecdh = createECDH("prime256v1")
  ecdh.setPrivateKey(secret)
  const point = ecdh.getPublicKey()
  const part = (start: number) => point.subarray(start, start + 32).toString("base64url")
  const d = ecdh.getPrivateKey("base64url")
  return createPrivateKey({ format: "jwk", key: { kty: "EC", crv: "P-256", d, x: part(1), y: part(33) } })
}

const pair = async (key: KeyObject): Promise<webcrypto.CryptoKeyPair> => {
  const { subtle } = webcrypto
  const publicKey = createPublicKey(key).export({ type: "spki", format: "der" })
  const privateKey = key.export({ type: "pkcs8", format: "der" })
  return {
    privateKey: await subtle.importKey("pkcs8", privateKey, ALGORITHM, true, ["sign"]),
    publicKey: await subtle.importKey("spki", publicKey, ALGORITHM, true, ["verify"]),
  }
}

const isAddress = (host: string): boolean => /^[\d.]+$/.test(host) || host.includes(":")

const names = (certificate: X509Certificate, host: string): boolean =>
  (isAddress(host) ? certificate.checkIP(host) : certificate.checkHost(host)) !== undefined

/** A day back: the clocks of clients differ. */
const validity = (nowMs: number, days: number) => ({
  notBefore: new Date(nowMs - DAY_MS),
  notAfter: new Date(nowMs + days * DAY_MS),
})

const makeAuthority = async (key: KeyObject, nowMs: number): Promise<string> => {
  const x509 = await import("@peculiar/x509")
  const keys = await pair(key)
  const publicKey = createPublicKey(key).export({ type: "spki", format: "der" })
  // The name tells apart the authorities of several installations in one file of trusted certificates.
  const mark = createHash("sha256").update(publicKey).digest("hex").slice(0, 16)
  const made = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=Svc databases ${mark}`,
    keys,
    signingAlgorithm: ALGORITHM,
    ...validity(nowMs, AUTHORITY_VALID_DAYS),
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return `${made.toString("pem")}\n`
}

const make = async (
  host: string,
  authority: { readonly key: KeyObject; readonly cert: string },
  nowMs: number,
): Promise<Certificate> => {
  const x509 = await import("@peculiar/x509")
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"])
  const signer = await pair(authority.key)
  const own = isAddress(host)
    ? [{ type: "ip" as const, value: host }]
    : // The branch may be the first label of the host name.
      [host, `*.${host}`].map(value => ({ type: "dns" as const, value }))
  const local = [
    { type: "dns" as const, value: "localhost" },
    { type: "dns" as const, value: "*.localhost" },
    { type: "ip" as const, value: "127.0.0.1" },
    { type: "ip" as const, value: "::1" },
  ].filter(({ value }) => !own.some(name => name.value === value))
  const made = await x509.X509CertificateGenerator.create({
    // A common name may have 64 characters; clients look at the names below.
    subject: host.length <= 64 ? `CN=${host}` : "CN=Svc databases",
    issuer: new x509.X509Certificate(authority.cert).subject,
    publicKey: keys.publicKey,
    signingKey: signer.privateKey,
    signingAlgorithm: ALGORITHM,
    ...validity(nowMs, VALID_DAYS),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension([...own, ...local]),
      // Python's ssl refuses certificates without these two.
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(signer.publicKey),
    ],
  })
  const key = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey))
  return {
    key: String(
      createPrivateKey({ key, format: "der", type: "pkcs8" }).export({ type: "pkcs8", format: "pem" }),
    ),
    cert: `${made.toString("pem")}\n`,
  }
}

/** A file is old or new, never half, and never readable by others. */
const replace = async (path: string, text: string): Promise<void> => {
  const fresh = `${path}.${process.pid}`
  await rm(fresh, { force: true })
  await writeFile(fresh, text, { mode: 0o600, flag: "wx" })
  await rename(fresh, path)
}

/** What `read` gives; undefined when a file is absent or spoilt, and is to be made again either way. */
const readable = async <Value>(read: () => Promise<Value | undefined>): Promise<Value | undefined> => {
  try {
    return await read()
  } catch {
    return undefined
  }
}

const authorityOf = async (folder: string, key: KeyObject, nowMs: number): Promise<string> => {
  const path = join(folder, AUTHORITY_FILE)
  const kept = await readable(async () => {
    const cert = await readFile(path, "utf8")
    const parsed = new X509Certificate(cert)
    const lasts = parsed.validToDate.getTime() - nowMs > RENEW_AUTHORITY_BEFORE_MS
    return lasts && parsed.checkPrivateKey(key) ? cert : undefined
  })
  if (kept !== undefined) return kept
  const made = await makeAuthority(key, nowMs)
  await replace(path, made)
  return made
}

/** The kept certificate, if the authority signed it for that host and it holds for a while. */
const keptIn = (folder: string, host: string, ca: string, nowMs: number) =>
  readable(async (): Promise<Certificate | undefined> => {
    const [key, cert] = await Promise.all([
      readFile(join(folder, KEY_FILE), "utf8"),
      readFile(join(folder, CERTIFICATE_FILE), "utf8"),
    ])
    const parsed = new X509Certificate(cert)
    const fits = parsed.checkPrivateKey(createPrivateKey(key)) && names(parsed, host)
    const isSigned = parsed.verify(new X509Certificate(ca).publicKey)
    const lasts = parsed.validToDate.getTime() - nowMs > RENEW_BEFORE_MS
    return fits && isSigned && lasts ? { key, cert } : undefined
  })

/**
 * The certificate kept in a folder (`wire.key`, `wire.crt` and the authority's `wire-ca.crt`, PEM), made when there is
 * none for that host name or it ends within 30 days. Also valid for names below the host's, where it has a name, and for
 * this machine's own.
 */
export const ownCertificate = async (
  { folder, host, authoritySecret }: { folder: string; host: string; authoritySecret: Buffer },
  nowMs: number = Date.now(),
): Promise<OwnCertificate> => {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const authorityKey = authorityKeyOf(authoritySecret)
  const ca = await authorityOf(folder, authorityKey, nowMs)
  const kept = await keptIn(folder, host, ca, nowMs)
  if (kept) return { ...kept, ca }
  const made = await make(host, { key: authorityKey, cert: ca }, nowMs)
  await replace(join(folder, KEY_FILE), made.key)
  await replace(join(folder, CERTIFICATE_FILE), made.cert)
  return { ...made, ca }
}
