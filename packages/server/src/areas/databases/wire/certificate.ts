/** A certificate of our own making, for a port whose owner has none. */
import { X509Certificate } from "node:crypto"
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { WireCertificate } from "./messages.ts"

const VALID_DAYS = 397
/** Made anew this long before its end. */
const RENEW_BEFORE_MS = 30 * 86_400_000
const DAY_MS = 86_400_000
const KEY_FILE = "wire.key"
const CERTIFICATE_FILE = "wire.crt"

/** The kept certificate, if it is one for that host and holds for a while. */
const read = async (folder: string, host: string, nowMs: number): Promise<WireCertificate | undefined> => {
  try {
    const [key, cert] = await Promise.all([
      readFile(join(folder, KEY_FILE), "utf8"),
      readFile(join(folder, CERTIFICATE_FILE), "utf8"),
    ])
    const parsed = new X509Certificate(cert)
    const { createPrivateKey } = await import("node:crypto")
    const fits = parsed.checkPrivateKey(createPrivateKey(key)) && names(parsed, host)
    return fits && parsed.validToDate.getTime() - nowMs > RENEW_BEFORE_MS ? { key, cert } : undefined
  } catch {
    return undefined // absent or spoilt; either way there is to be another one
  }
}

const isAddress = (host: string): boolean => /^[\d.]+$/.test(host) || host.includes(":")

const names = (certificate: X509Certificate, host: string): boolean =>
  (isAddress(host) ? certificate.checkIP(host) : certificate.checkHost(host)) !== undefined

const make = async (host: string, nowMs: number): Promise<WireCertificate> => {
  const { generate } = await import("selfsigned")
  const altNames = [
    { type: 2 as const, value: "localhost" },
    { type: 7 as const, ip: "127.0.0.1" },
    { type: 7 as const, ip: "::1" },
  ]
  const own = isAddress(host) ? { type: 7 as const, ip: host } : { type: 2 as const, value: host }
  const made = await generate([{ name: "commonName", value: host }], {
    keyType: "ec",
    curve: "P-256",
    algorithm: "sha256",
    // A day back: the clocks of clients differ.
    notBeforeDate: new Date(nowMs - DAY_MS),
    notAfterDate: new Date(nowMs + VALID_DAYS * DAY_MS),
    extensions: [
      { name: "basicConstraints", cA: false, critical: true },
      { name: "keyUsage", digitalSignature: true, critical: true },
      { name: "extKeyUsage", serverAuth: true },
      { name: "subjectAltName", altNames: [...altNames, own] },
    ],
  })
  return { key: made.private, cert: made.cert }
}

/** A file is old or new, never half, and never readable by others. */
const replace = async (path: string, text: string): Promise<void> => {
  const fresh = `${path}.${process.pid}`
  await rm(fresh, { force: true })
  await writeFile(fresh, text, { mode: 0o600, flag: "wx" })
  await rename(fresh, path)
}

/**
 * The certificate kept in a folder (`wire.key` and `wire.crt`, PEM), made when there is none for that host name or it
 * ends within 30 days. Also valid for localhost, 127.0.0.1 and ::1.
 */
export const ownCertificate = async (
  folder: string,
  host: string,
  nowMs: number = Date.now(),
): Promise<WireCertificate> => {
  const kept = await read(folder, host, nowMs)
  if (kept) return kept
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const made = await make(host, nowMs)
  await replace(join(folder, KEY_FILE), made.key)
  await replace(join(folder, CERTIFICATE_FILE), made.cert)
  return made
}
