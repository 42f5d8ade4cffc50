/** The port to which clients of PostgreSQL's protocol come: what they find there, and what connection strings say of it. */
import { readFile } from "node:fs/promises"
import { type Certificate, ownCertificate } from "./certificate.ts"

/** Behind a branch's name in the user's name: the client shares connections with others. */
export const POOLER_SUFFIX = "-pooler"

/** From where a connection must use TLS: from other machines, always, or never. */
export type RequireTls = "remote" | "always" | "never"

export interface ClientPortSettings {
  /** In connection strings. */
  readonly host: string
  readonly requireTls: RequireTls
  /** PEM files of the operator's. */
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
  /** Where a self-made certificate is stored. */
  readonly certificateDir: string
  /** From which the key is made that signs them: 32 bytes, the same for all processes of an installation. */
  readonly authoritySecret: Buffer
}

/** True for addresses that only this machine has. */
export const isLoopback = (address: string): boolean => /^(?:::ffff:)?127\.|^::1$/.test(address)

/** True for host names that lead to such an address. */
const isLoopbackHost = (host: string): boolean => /^(?:.+\.)?localhost$/i.test(host) || isLoopback(host)

const ownOf = ({ certFile, keyFile, host, certificateDir, authoritySecret }: ClientPortSettings) =>
  certFile === undefined || keyFile === undefined
    ? ownCertificate({ folder: certificateDir, host, authoritySecret })
    : undefined

export const certificateOf = async (settings: ClientPortSettings): Promise<Certificate> => {
  const { certFile = "", keyFile = "" } = settings
  const own = await ownOf(settings)
  if (own) return { cert: own.cert, key: own.key }
  return { cert: await readFile(certFile, "utf8"), key: await readFile(keyFile, "utf8") }
}

/** Whether who comes to the host of connection strings is turned away without TLS. */
export const isTlsRequired = ({ host, requireTls }: ClientPortSettings): boolean =>
  requireTls === "always" || (requireTls === "remote" && !isLoopbackHost(host))

/** What clients trust to check the port's certificate; null where that is the operator's own. */
export const authorityOf = async (settings: ClientPortSettings): Promise<string | null> =>
  (await ownOf(settings))?.ca ?? null
