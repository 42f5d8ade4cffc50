import { isIP } from "node:net"
import type { Principal } from "../call.ts"
import type { Stage } from "../exchange.ts"
import { fault } from "../fault.ts"

/** A key with an allow-list answers to no other address. An address that cannot be read is refused (fail closed). */
export const admitAddress = ({ allowlist }: Pick<Principal, "allowlist">, ip: string): void => {
  if (allowlist === null) return
  const family = isIP(ip)
  if (family === 0 || !allowlist.check(ip, family === 6 ? "ipv6" : "ipv4")) throw fault("ip_not_allowed")
}

export const address: Stage = ({ principal, incoming }) => {
  admitAddress(principal, incoming.ip)
  return undefined
}
