import { BlockList, isIP } from "node:net"
import { networkInterfaces } from "node:os"
import { parseCidrs } from "../edges/client-address.ts"

/**
 * IPv4 that is not the public Internet: the IANA special-purpose address registry, multicast, and what clouds put into
 * public ranges.
 */
export const SPECIAL_IPV4 = [
  "0.0.0.0/8", // This network (RFC 791); Linux takes 0.0.0.0 for this machine.
  "10.0.0.0/8", // Private (RFC 1918).
  "100.64.0.0/10", // Carrier-grade NAT (RFC 6598); Alibaba's metadata service, 100.100.100.200.
  "127.0.0.0/8", // Loopback.
  "169.254.0.0/16", // Link-local (RFC 3927); the metadata service of most clouds, 169.254.169.254.
  "172.16.0.0/12", // Private (RFC 1918).
  "192.0.0.0/24", // Protocol assignments (RFC 6890); Oracle's metadata service, 192.0.0.192.
  "192.0.2.0/24", // Documentation (RFC 5737).
  "192.31.196.0/24", // AS112 (RFC 7535).
  "192.52.193.0/24", // AMT (RFC 7450).
  "192.88.99.0/24", // 6to4 relays (RFC 7526).
  "192.168.0.0/16", // Private (RFC 1918).
  "192.175.48.0/24", // AS112 (RFC 7534).
  "198.18.0.0/15", // Benchmarking (RFC 2544).
  "198.51.100.0/24", // Documentation (RFC 5737).
  "203.0.113.0/24", // Documentation (RFC 5737).
  "224.0.0.0/4", // Multicast.
  "240.0.0.0/4", // Reserved, and broadcast.
  "168.63.129.16/32", // Azure's platform service.
] as const

/** The one block that IPv6 addresses of the Internet come from (RFC 4291); loopback, mapped, NAT64, ULA lie outside. */
const GLOBAL_IPV6 = ["2000::/3"] as const

const SPECIAL_IPV6 = [
  "2001::/23", // Protocol assignments (RFC 2928): Teredo, ORCHID, benchmarking.
  "2001:db8::/32", // Documentation (RFC 3849).
  "2002::/16", // 6to4 (RFC 3056).
  "2620:4f:8000::/48", // AS112 (RFC 7534).
  "3fff::/20", // Documentation (RFC 9637).
] as const

/** `opened` by the operator, whatever else it is. */
export type AddressClass = "opened" | "public" | "refused"

const contains = (list: BlockList, address: string): boolean =>
  list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4")

const ownAddresses = (): BlockList => {
  const list = new BlockList()
  for (const { address, family } of Object.values(networkInterfaces()).flatMap(found => found ?? []))
    list.addAddress(address, family === "IPv6" ? "ipv6" : "ipv4")
  return list
}

/** Judges addresses in any notation that `net.isIP` knows; `allow` are CIDRs. What is no address is refused. */
export const createAddressRules = (allow: readonly string[]): ((address: string) => AddressClass) => {
  const opened = parseCidrs(allow)
  const special = parseCidrs([...SPECIAL_IPV4, ...SPECIAL_IPV6])
  const global = parseCidrs(GLOBAL_IPV6)
  return address => {
    const family = isIP(address)
    // A zone names one of this machine's links.
    if (family === 0 || address.includes("%")) return "refused"
    if (contains(opened, address)) return "opened"
    if (contains(special, address) || (family === 6 && !contains(global, address))) return "refused"
    // Interfaces come and go, so they are asked for each time: some 20 µs a connection.
    return contains(ownAddresses(), address) ? "refused" : "public"
  }
}
