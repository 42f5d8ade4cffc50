import type { IncomingMessage } from "node:http"
import { BlockList, isIP, SocketAddress } from "node:net"

/** A list of CIDRs or single addresses; throws on one that is neither. */
export const parseCidrs = (cidrs: readonly string[]): BlockList => {
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [address = "", prefix, ...rest] = cidr.split("/")
    const family = isIP(address)
    const widest = family === 6 ? 128 : 32
    const bits = prefix === undefined ? widest : Number(prefix)
    if (family === 0 || !/^\d{1,3}$/.test(prefix ?? "0") || bits > widest || rest.length > 0) {
      throw new RangeError(`${cidr} is not an address or a CIDR`)
    }
    list.addSubnet(address, bits, family === 6 ? "ipv6" : "ipv4")
  }
  return list
}

/** What a caller is called whose proxy names no address: in no allow-list, and one bucket for all of them. */
const UNKNOWN = "unknown"

const MAPPED = "::ffff:"
const unmap = (ip: string): string =>
  ip.startsWith(MAPPED) && ip.includes(".") ? ip.slice(MAPPED.length) : ip

/** `203.0.113.7:4711`, `[2001:db8::1]:4711`: some proxies write the port too. */
const WITH_PORT = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d{1,5})?$/

/** An address in its one shortest spelling, so that equal addresses are equal text. */
const readHop = (hop: string): string => {
  const ported = WITH_PORT.exec(hop)
  const address = ported?.[1] ?? ported?.[2] ?? hop
  const family = isIP(address)
  if (family === 4) return address
  return family === 6 ? unmap(new SocketAddress({ address, family: "ipv6" }).address) : UNKNOWN
}

const trusts = (proxies: BlockList, ip: string): boolean => {
  const family = isIP(ip)
  return family !== 0 && proxies.check(ip, family === 6 ? "ipv6" : "ipv4")
}

/**
 * The caller's address. `X-Forwarded-For` counts only as far as trusted proxies wrote it: read from the right, the
 * first address that is not a trusted proxy's is the caller's, whatever the caller itself put to the left of it.
 */
export const createClientAddress = (trustedProxies: readonly string[]) => {
  const proxies = trustedProxies.length > 0 ? parseCidrs(trustedProxies) : undefined

  return (request: Pick<IncomingMessage, "socket" | "headers">): string => {
    const peer = unmap(request.socket.remoteAddress ?? UNKNOWN)
    const forwarded = request.headers["x-forwarded-for"]
    if (!proxies || typeof forwarded !== "string" || !trusts(proxies, peer)) return peer
    let caller = peer
    for (const hop of forwarded.split(",").reverse()) {
      caller = readHop(hop.trim())
      if (!trusts(proxies, caller)) break
    }
    return caller
  }
}
