/** Plain TCP to hosts that users name, such as their mail servers: as guarded as requests to their URLs. */
import { once } from "node:events"
import { connect, isIP, type Socket } from "node:net"
import { createAddressRules } from "./addresses.ts"
import { createNames } from "./names.ts"
import { OutboundError } from "./outbound.ts"
import { createTargetRules } from "./targets.ts"

export interface GuardedSockets extends Disposable {
  /** A connection to one of the host's admitted addresses, tried in turn; throws an OutboundError. */
  connect(host: string, port: number): Promise<Socket>
}

const CONNECT_MS_MAX = 10_000
/** Targets have no scheme here; plain http alone is judged differently. */
const PROTOCOL = "https:"

const refused = () =>
  new OutboundError({
    kind: "refused",
    rule: "address",
    message: "The host is not on the public Internet. The operator can open targets with SVC_OUTBOUND_ALLOW.",
  })

const open = async (address: string, port: number): Promise<Socket> => {
  const socket = connect({ host: address, port })
  const timer = setTimeout(() => socket.destroy(new Error("ETIMEDOUT")), CONNECT_MS_MAX)
  try {
    await once(socket, "connect")
    return socket
  } finally {
    clearTimeout(timer)
  }
}

export const createGuardedSockets = (options: {
  readonly outboundAllow: readonly string[]
  readonly dnsServers: readonly string[]
  readonly baseUrl: string
}): GuardedSockets => {
  const rules = createTargetRules({
    verdictOf: createAddressRules(options.outboundAllow),
    isAnyOpened: options.outboundAllow.length > 0,
    isProduction: false,
    ownName: new URL(options.baseUrl).hostname,
  })
  const names = createNames(options.dnsServers)

  return {
    async connect(given, port) {
      const host = given.toLowerCase().replace(/\.$/, "")
      const found = isIP(host) === 0 ? await names.addressesOf(host) : [host]
      const admitted = found.filter(address => rules.admits(PROTOCOL, host, address))
      if (admitted.length === 0) throw refused()
      let failure: unknown
      for (const address of admitted) {
        try {
          return await open(address, port)
        } catch (error) {
          failure = error
        }
      }
      const { code = "no answer" } = failure as NodeJS.ErrnoException
      throw new OutboundError({ kind: "unreachable", message: `No connection came about: ${code}.` }, failure)
    },
    [Symbol.dispose]: () => names[Symbol.dispose](),
  }
}
