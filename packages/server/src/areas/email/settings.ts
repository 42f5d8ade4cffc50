import type { Settings, ValuesOf } from "../../kernel/setting.ts"
import { hostName } from "../../kernel/setting-parsers.ts"
import type { Installation } from "../../kernel/tokens.ts"
import { type InboundMail, inboundMailOf, inboundSettings } from "../../ports/mail/inbound.ts"

/** Terms of an SPF record, without its version and its `all`. */
export const spfTerms = (text: string | undefined): string | undefined => {
  if (text === undefined) return undefined
  const terms = text.trim().toLowerCase().split(/ +/)
  const isTerm = (term: string) => /^(include|a|mx|ip4|ip6|exists)(:[^ "]+)?$/.test(term)
  if (!terms.every(isTerm)) throw new RangeError("must be terms of SPF such as include:spf.example.com")
  return terms.join(" ")
}

export const settings = {
  ...inboundSettings,
  mailSpf: {
    variable: "SVC_MAIL_SPF",
    default: "a:<SVC_MAIL_HOST>",
    description:
      "Terms in SPF records of sending domains that allow the servers that send the mail: `include:spf.example.com`.",
    parse: spfTerms,
  },
  trackingHost: {
    variable: "SVC_TRACKING_HOST",
    default: "the host of SVC_BASE_URL",
    description: "Host name that tracking subdomains of sending domains are aliases (CNAME) of.",
    parse: hostName,
  },
} as const satisfies Settings

/** This installation as other mail servers know it. */
export interface MailSettings extends InboundMail {
  /** What SPF records of sending domains name as allowed to send. */
  readonly spfTerms: string
  /** What their tracking names are aliases of. */
  readonly trackingHost: string
}

export const mailSettings = (values: ValuesOf<typeof settings>, installation: Installation): MailSettings => {
  const inbound = inboundMailOf(values, installation)
  return {
    ...inbound,
    spfTerms: values.mailSpf ?? `a:${inbound.mailHost}`,
    trackingHost: values.trackingHost ?? new URL(installation.baseUrl).hostname,
  }
}
