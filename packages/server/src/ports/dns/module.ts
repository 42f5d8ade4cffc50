import { createAddressRules } from "../../kernel/outbound/addresses.ts"
import { defineService } from "../../kernel/service.ts"
import { installation } from "../../kernel/tokens.ts"
import { dns } from "./port.ts"

export const dnsService = defineService({
  provides: dns,
  needs: { installation },
  async open({ installation: { dnsServers, outboundAllow } }) {
    const { createDns } = await import("./resolver.ts")
    const verdictOf = createAddressRules(outboundAllow)
    return createDns({
      servers: dnsServers,
      // An operator who names servers has a reason not to ask others.
      asksZones: dnsServers.length === 0,
      mayAsk: address => verdictOf(address) !== "refused",
    })
  },
})
