/** What a workload may reach as networks with exceptions, for those who enforce it with nothing but these. */
import { BlockList } from "node:net"
import { SPECIAL_IPV4 } from "../../../kernel/outbound/addresses.ts"
import type { Reach } from "./policy.ts"

export interface Block {
  readonly cidr: string
  /** Networks within it, none of them within another. */
  readonly except: readonly string[]
}

const bitsOf = (cidr: string) => Number(cidr.split("/")[1])

/** Whether all of `inner` is in `outer`. */
const covers = (outer: string, inner: string): boolean => {
  const list = new BlockList()
  const [address = "", bits] = outer.split("/")
  list.addSubnet(address, Number(bits), "ipv4")
  return bitsOf(outer) <= bitsOf(inner) && list.check(inner.split("/")[0] ?? "", "ipv4")
}

/** An allowed network without the denied ones; undefined when nothing is left of it. */
const blockOf = (cidr: string, denied: readonly string[]): Block | undefined => {
  if (denied.some(one => covers(one, cidr))) return undefined
  const inside = denied.filter(one => covers(cidr, one))
  const isSaid = (one: string, at: number) =>
    inside.some((other, n) => n !== at && covers(other, one) && (!covers(one, other) || n < at))
  return { cidr, except: inside.filter((one, at) => !isSaid(one, at)) }
}

/** Of what is public. Domains are not in it. */
export const publicBlocks = ({ allow, deny }: Reach): readonly Block[] =>
  (allow?.cidrs ?? ["0.0.0.0/0"]).flatMap(cidr => blockOf(cidr, [...SPECIAL_IPV4, ...deny]) ?? [])
