import { Resolver } from "node:dns/promises"
import type { Socket } from "node:net"
import { LRUCache } from "lru-cache"
import type { MailOutcome, MailPort, MailReply, RelayOptions } from "../port.ts"
import { openSmtpMail } from "./smtp.ts"

export interface DirectOptions {
  readonly helo: string
  readonly dnsServers: readonly string[]
  readonly connect: (host: string, port: number) => Promise<Socket>
  /** 25, but for tests. */
  readonly port?: number
}

const TIMEOUT_MS = 60_000
const CONNECTIONS_MAX = 2
const SERVERS_MAX = 4
const DESTINATIONS_MAX = 500
/** No name server says that there is none of it: the name is not there, or has no such record. */
const ABSENT: ReadonlySet<string | undefined> = new Set(["ENOTFOUND", "ENODATA"])

const reply = (code: number, enhancedCode: string, response: string): MailReply => ({
  ...{ code, enhancedCode, response, host: null, address: null },
})

/** To the recipient's own server (RFC 5321, section 5), with a pool of connections for each. */
export const openDirectMail = (options: DirectOptions): MailPort => {
  const { helo, connect, port = 25 } = options
  const resolver = new Resolver({ timeout: 3_000, tries: 2 })
  if (options.dnsServers.length > 0) resolver.setServers([...options.dnsServers])
  // A mail on its way to the one that goes is deferred by this. Idle connections close by themselves.
  const destinations = new LRUCache<string, MailPort>({
    max: DESTINATIONS_MAX,
    dispose: mail => void mail[Symbol.asyncDispose](),
  })

  const destinationOf = (host: string): MailPort => {
    const known = destinations.get(host)
    if (known) return known
    const relay: RelayOptions = {
      ...{ host, port, security: "opportunistic", username: null, password: null, maxPerSecond: null },
    }
    const mail = openSmtpMail({ relay, helo, connect, isDestination: true, connectionsMax: CONNECTIONS_MAX })
    destinations.set(host, mail)
    return mail
  }

  /** Mail servers by preference; the domain itself where it names none. */
  const serversOf = async (domain: string): Promise<string[] | MailOutcome> => {
    try {
      const records = await resolver.resolveMx(domain)
      if (records.some(({ exchange }) => exchange === "" || exchange === "."))
        return { kind: "rejected", reply: reply(556, "5.1.10", "The domain takes no mail (null MX).") }
      return records
        .sort((a, b) => a.priority - b.priority)
        .slice(0, SERVERS_MAX)
        .map(({ exchange }) => exchange)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (!ABSENT.has(code))
        return { kind: "deferred", reply: reply(450, "4.4.3", `The name servers do not answer: ${code}.`) }
    }
    const found = await Promise.allSettled([resolver.resolve4(domain), resolver.resolve6(domain)])
    if (found.some(({ status }) => status === "fulfilled")) return [domain]
    const isAbsent = found.every(result => result.status === "rejected" && ABSENT.has(result.reason?.code))
    return isAbsent
      ? { kind: "rejected", reply: reply(550, "5.1.2", "The domain has no mail server.") }
      : { kind: "deferred", reply: reply(450, "4.4.3", "The name servers do not answer.") }
  }

  return {
    capabilities: { by: "server", timeoutMs: TIMEOUT_MS * SERVERS_MAX },
    async send(mail) {
      const domain = mail.recipient.slice(mail.recipient.lastIndexOf("@") + 1)
      const servers = await serversOf(domain)
      if (!Array.isArray(servers)) return servers
      let last: MailOutcome | undefined
      for (const host of servers) {
        last = await destinationOf(host).send(mail)
        // A server that spoke has decided; the next one is for those that could not be talked to.
        if (last.kind !== "deferred" || last.reply.code !== null) return last
      }
      return (
        last ?? { kind: "deferred", reply: reply(450, "4.4.4", "There is no mail server to be reached.") }
      )
    },
    async [Symbol.asyncDispose]() {
      resolver.cancel()
      destinations.clear()
    },
  }
}
