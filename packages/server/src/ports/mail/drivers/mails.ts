/** The transports of an installation: its own, and those of tenants, which are opened when they are used. */
import type { Socket } from "node:net"
import { LRUCache } from "lru-cache"
import type { MailPort, Mails, RelayOptions } from "../port.ts"
import { createCaptureMail } from "./capture.ts"
import { openDirectMail } from "./direct.ts"
import { openSmtpMail } from "./smtp.ts"

export interface MailOptions {
  /** The operator's relay. */
  readonly relay: RelayOptions | undefined
  /** Whether mail may go to the servers of recipients. */
  readonly direct: boolean
  /** Sender of mails for which nobody names another. */
  readonly from: string
  readonly helo: string
  readonly dnsServers: readonly string[]
  /** The guarded way to hosts that tenants and MX records name. */
  readonly connect: (host: string, port: number) => Promise<Socket>
}

const RELAYS_MAX = 200
const RELAY_IDLE_MS = 300_000

export const openMails = (options: MailOptions): Mails => {
  const { helo, dnsServers, connect } = options
  const direct = options.direct ? openDirectMail({ helo, dnsServers, connect }) : undefined
  const operator = options.relay && openSmtpMail({ relay: options.relay, helo, connectionsMax: 10 })
  const provider = operator ?? direct ?? createCaptureMail()
  const relays = new LRUCache<string, MailPort>({
    max: RELAYS_MAX,
    ttl: RELAY_IDLE_MS,
    updateAgeOnGet: true,
    dispose: mail => void mail[Symbol.asyncDispose](),
  })

  return {
    from: options.from,
    provider,
    direct,
    relay(of) {
      const name = JSON.stringify(of)
      const known = relays.get(name)
      if (known) return known
      const opened = openSmtpMail({ relay: of, helo, connect })
      relays.set(name, opened)
      return opened
    },
    async [Symbol.asyncDispose]() {
      relays.clear()
      await Promise.all([provider, direct].map(mail => mail?.[Symbol.asyncDispose]()))
    },
  }
}
