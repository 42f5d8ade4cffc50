import type { Settings } from "../../kernel/setting.ts"
import { mailAddress, uuid } from "../../kernel/setting-parsers.ts"
import { inboundSettings } from "../../ports/mail/inbound.ts"

export const settings = {
  ...inboundSettings,
  supportOrganization: {
    variable: "SVC_SUPPORT_ORGANIZATION",
    default: "the first organization",
    description:
      "Id of the organization whose owners and administrators are the support agents for all others.",
    parse: uuid,
  },
  supportEmail: {
    variable: "SVC_SUPPORT_EMAIL",
    default: "none",
    description: "Address that is notified of new support tickets and of customers' comments.",
    parse: mailAddress,
  },
} as const satisfies Settings
