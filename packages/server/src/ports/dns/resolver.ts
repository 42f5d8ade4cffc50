import { Resolver } from "node:dns/promises"
import type { DnsFinding, DnsPort, DnsType } from "./port.ts"

export interface DnsOptions {
  /** `address` or `address:port`; none: the system's. */
  readonly servers: readonly string[]
  /** Whether the zones' own name servers are asked first. */
  readonly asksZones: boolean
  /** Whether a zone's own name server may be asked at this address. */
  readonly mayAsk: (address: string) => boolean
  /** Where zones' name servers answer; 53 unless told. */
  readonly port?: number
}

const TIMEOUT_MS = 1_200
const TRIES = 2
const LOOK_MS = 10_000
const RECORDS_MAX = 50
/** Name servers of one zone that are asked. */
const SERVERS_MAX = 3
/** Zones above a name that are tried for name servers. */
const LABELS_MAX = 6

/** Error codes of c-ares that say that there is no such record. */
const MISSING: ReadonlySet<string> = new Set(["ENODATA", "ENOTFOUND"])

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "EUNKNOWN"

const plain = (name: string): string => name.toLowerCase().replace(/\.$/, "")

const ask = async (resolver: Resolver, name: string, type: DnsType): Promise<string[]> => {
  switch (type) {
    case "TXT":
      return (await resolver.resolveTxt(name)).map(strings => strings.join(""))
    case "MX":
      return (await resolver.resolveMx(name)).map(
        ({ priority, exchange }) => `${priority} ${plain(exchange)}`,
      )
    case "CNAME":
      return (await resolver.resolveCname(name)).map(plain)
  }
}

const findingOf = async (resolver: Resolver, name: string, type: DnsType): Promise<DnsFinding> => {
  try {
    const values = (await ask(resolver, name, type)).slice(0, RECORDS_MAX)
    return values.length > 0 ? { kind: "found", values } : { kind: "missing" }
  } catch (error) {
    const code = codeOf(error)
    if (MISSING.has(code)) return { kind: "missing" }
    return { kind: "unanswered", reason: code.replace(/^E/, "").toLowerCase() }
  }
}

const answersOf = async (answer: Promise<string[]>): Promise<string[]> => answer.catch(() => [])

/** The name servers of the closest zone around a name, by what the given resolver says. */
const zoneServers = async (resolver: Resolver, name: string, signal: AbortSignal): Promise<string[]> => {
  const labels = name.split(".")
  // Not the last label: nobody's own zone is a top-level domain.
  const last = Math.min(LABELS_MAX, labels.length - 1)
  for (let at = 0; at < last && !signal.aborted; at += 1) {
    const names = await answersOf(resolver.resolveNs(labels.slice(at).join(".")))
    if (names.length > 0) return names.slice(0, SERVERS_MAX)
  }
  return []
}

/**
 * Asks the name servers of the zone itself where it can, because others keep an old answer, or the lack of one, for as
 * long as an hour. A zone names its servers as it likes, so only those at allowed addresses are asked.
 */
export const createDns = ({ servers, asksZones, mayAsk, port = 53 }: DnsOptions): DnsPort => {
  const options = { timeout: TIMEOUT_MS, tries: TRIES }
  const general = () => {
    const resolver = new Resolver(options)
    if (servers.length > 0) resolver.setServers(servers)
    return resolver
  }

  const authoritative = async (
    resolver: Resolver,
    name: string,
    signal: AbortSignal,
  ): Promise<Resolver | undefined> => {
    const hosts = await zoneServers(resolver, name, signal)
    const found = await Promise.all(
      hosts.map(async host => [
        ...(await answersOf(resolver.resolve4(host))),
        ...(await answersOf(resolver.resolve6(host))),
      ]),
    )
    const addresses = found.flat().filter(mayAsk).slice(0, SERVERS_MAX)
    if (addresses.length === 0) return undefined
    const own = new Resolver(options)
    own.setServers(
      addresses.map(address => (address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`)),
    )
    return own
  }

  return {
    async look(name, type, signal) {
      const resolver = general()
      let own: Resolver | undefined
      const deadline = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)])
      const cancel = () => {
        resolver.cancel()
        own?.cancel()
      }
      deadline.addEventListener("abort", cancel, { once: true })
      try {
        if (asksZones) own = await authoritative(resolver, name, deadline)
        const finding = own && !deadline.aborted && (await findingOf(own, name, type))
        // One that knows nothing may only see the name's alias, or nobody from here: others then know better.
        if (finding && finding.kind === "found") return finding
        return deadline.aborted
          ? { kind: "unanswered", reason: "timeout" }
          : await findingOf(resolver, name, type)
      } finally {
        deadline.removeEventListener("abort", cancel)
      }
    },
  }
}
