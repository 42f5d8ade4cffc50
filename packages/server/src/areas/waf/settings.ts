import type { Settings } from "../../kernel/setting.ts"
import { integer } from "../../kernel/setting-parsers.ts"

const RATE = 100

/** Requests a second; undefined where they are not limited. */
const rate = (text = String(RATE)): number | undefined =>
  text === "off" ? undefined : integer(1, 1_000_000, RATE)(text)

export const settings = {
  wafRate: {
    variable: "SVC_WAF_RATE",
    default: String(RATE),
    description:
      "Requests a second that the firewall lets one address send to one load balancer for long; ten times as many may come at once, and a network (/24, or /48 of IPv6) may send ten times as many. `off` for no limit.",
    parse: rate,
  },
  wafBanSeconds: {
    variable: "SVC_WAF_BAN_SECONDS",
    default: "600",
    description: "Seconds for which an address is refused that goes on after it was limited.",
    parse: integer(1, 86_400, 600),
  },
} as const satisfies Settings
