import type { Settings } from "../../kernel/setting.ts"
import { integer, word } from "../../kernel/setting-parsers.ts"

export const settings = {
  billingMode: {
    variable: "SVC_BILLING",
    default: "legacy",
    description:
      "`credit`: organizations pay from credit, and what they have none for is refused with 402, except for the organization that runs the installation. `legacy`: use is measured and shown with its price, and nothing is refused for want of credit.",
    parse: word("legacy", "credit"),
  },
  billingCurrency: {
    variable: "SVC_BILLING_CURRENCY",
    default: "USD",
    description: "Currency of all amounts, as ISO 4217 names it. It must not change once there are amounts.",
    parse: (text = "USD") => {
      if (!/^[A-Z]{3}$/.test(text)) throw new RangeError("must be three capital letters, such as EUR")
      return text
    },
  },
  billingOverageMax: {
    variable: "SVC_BILLING_OVERAGE_MAX",
    default: "50000000",
    description:
      "The most an organization may owe that has overage enabled, in millionths of the currency; 0 lets nobody enable it.",
    parse: integer(0, 1_000_000_000_000, 50_000_000),
  },
} as const satisfies Settings
