import { Resolver } from "node:dns/promises"
import { OutboundError } from "./outbound.ts"

/** As many as are tried: an answer could list hundreds. */
const ADDRESSES_MAX = 8

export interface Names extends Disposable {
  /** Every address of a name, IPv4 first; throws an OutboundError when there is none. */
  addressesOf(name: string): Promise<string[]>
}

/**
 * Asks name servers itself instead of through the system's resolver: that one keeps a thread of the file system's pool
 * for as long as a slow name server likes. `/etc/hosts` and search domains have no part in it.
 */
export const createNames = (servers: readonly string[]): Names => {
  const resolver = new Resolver({ timeout: 1_500, tries: 2 })
  if (servers.length > 0) resolver.setServers(servers)

  return {
    async addressesOf(name) {
      // RFC 6761: no name server is to be asked for it.
      if (/(^|\.)localhost$/.test(name)) return ["127.0.0.1", "::1"]
      const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
      const addresses = answers.flatMap(answer => (answer.status === "fulfilled" ? answer.value : []))
      if (addresses.length === 0)
        throw new OutboundError({ kind: "unresolved", message: "The name of the URL's host has no address." })
      return addresses.slice(0, ADDRESSES_MAX)
    },
    [Symbol.dispose]: () => resolver.cancel(),
  }
}
