import { isIP } from "node:net"
import type { Stage } from "../exchange.ts"
import { fault } from "../fault.ts"

/** A key with an allow-list answers to no other address. An address that cannot be read is refused (fail closed). */
export const address: Stage = ({ principal, incoming }) => {
  if (principal.allowlist === null) return undefined
  const family = isIP(incoming.ip)
  if (family === 0 || !principal.allowlist.check(incoming.ip, family === 6 ? "ipv6" : "ipv4"))
    throw fault("ip_not_allowed")
  return undefined
}
