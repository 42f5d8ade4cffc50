/** What a workload may reach, read from the words of its policy. */
import { BlockList, isIPv4, isIPv6 } from "node:net"
import { PortError } from "../../port-error.ts"
import type { NetworkPolicy } from "../port.ts"

export interface Reach {
  /** Null: all that is public. */
  readonly allow: { readonly cidrs: readonly string[]; readonly domains: readonly string[] } | null
  /** CIDRs. */
  readonly deny: readonly string[]
  allowsName(name: string): boolean
  /** Of an address that a name has. */
  deniesAddress(address: string): boolean
}

const DOMAIN = /^(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/

const refuse = (entry: string): never => {
  throw new PortError("refused", `${entry} is neither a CIDR nor a domain`)
}

/** What is written into rules: an IPv4 network in the usual spelling. There is no IPv6, so a network of it says nothing. */
const cidrOf = (entry: string): readonly string[] => {
  const [address = "", bits = "", ...rest] = entry.split("/")
  const isV6 = isIPv6(address)
  const isNumber = /^\d{1,3}$/.test(bits) && Number(bits) <= (isV6 ? 128 : 32)
  if (rest.length > 0 || !isNumber || !(isV6 || isIPv4(address))) return refuse(entry)
  return isV6 ? [] : [`${address}/${Number(bits)}`]
}

/** `*.example.com` is every name below example.com, at whatever depth, but not that one. */
const matches = (pattern: string, name: string): boolean =>
  pattern.startsWith("*.")
    ? name.endsWith(pattern.slice(1)) && name.length >= pattern.length
    : name === pattern

const blockList = (cidrs: readonly string[]): BlockList => {
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [address = "", bits] = cidr.split("/")
    list.addSubnet(address, Number(bits), "ipv4")
  }
  return list
}

/** Throws `refused` for an entry that means nothing. */
export const reachOf = ({ allow, deny }: Extract<NetworkPolicy, { mode: "filtered" }>): Reach => {
  const denied = deny.flatMap(cidrOf)
  const deniedList = blockList(denied)
  const given = allow?.map(entry => entry.toLowerCase())
  const domains = given?.filter(entry => !entry.includes("/")) ?? []
  for (const domain of domains) if (!DOMAIN.test(domain)) refuse(domain)
  const cidrs = given?.filter(entry => entry.includes("/")).flatMap(cidrOf) ?? []
  return {
    allow: given ? { cidrs, domains } : null,
    deny: denied,
    allowsName: name => !given || domains.some(domain => matches(domain, name)),
    deniesAddress: address => deniedList.check(address, "ipv4"),
  }
}
