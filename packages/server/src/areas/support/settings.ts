import type { Settings } from "../../kernel/setting.ts"
import { mailAddress, uuid } from "../../kernel/setting-parsers.ts"
import { inboundSettings } from "../../ports/mail/inbound.ts"

export const settings = {
  ...inboundSettings,
  supportOrganization: {
    variable: "SVC_SUPPORT_ORGANIZATION",
    otherwise: "the first organization",
    meaning:
      "Id of the organization whose owners and administrators answer the support tickets of all others.",
    parse: uuid,
  },
  supportEmail: {
    variable: "SVC_SUPPORT_EMAIL",
    otherwise: "none",
    meaning: "Address that is told of new support tickets and of what customers add to them.",
    parse: mailAddress,
  },
} as const satisfies Settings
