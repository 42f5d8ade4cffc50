import type { IncomingMessage } from "node:http"
import { BlockList, isIP } from "node:net"

/** A list of CIDRs or single addresses; throws on one that is neither. */
export const parseCidrs = (cidrs: readonly string[]): BlockList => {
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [address = "", prefix] = cidr.split("/")
    const family = isIP(address)
    const bits = prefix === undefined ? (family === 6 ? 128 : 32) : Number(prefix)
    if (family === 0 || !/^\d{1,3}$/.test(prefix ?? "0") || bits > (family === 6 ? 128 : 32)) {
      throw new RangeError(`${cidr} is not an address or a CIDR`)
    }
    list.addSubnet(address, bits, family === 6 ? "ipv6" : "ipv4")
  }
  return list
}

const MAPPED = "::ffff:"
const unmap = (ip: string): string =>
  ip.startsWith(MAPPED) && ip.includes(".") ? ip.slice(MAPPED.length) : ip

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

  return (request: IncomingMessage): string => {
    const peer = unmap(request.socket.remoteAddress ?? "")
    const forwarded = request.headers["x-forwarded-for"]
    if (!proxies || typeof forwarded !== "string" || !trusts(proxies, peer)) return peer
    let caller = peer
    for (const hop of forwarded.split(",").reverse()) {
      caller = unmap(hop.trim())
      if (!trusts(proxies, caller)) break
    }
    return caller
  }
}
