/** Where this installation takes mails; what sends them and what answers them both say so. */
import { isIP } from "node:net"
import type { Settings, ValuesOf } from "../../kernel/setting.ts"
import { hostName, port } from "../../kernel/setting-parsers.ts"
import type { Installation } from "../../kernel/tokens.ts"

export const inboundSettings = {
  mailHost: {
    variable: "SVC_MAIL_HOST",
    default: "the host of SVC_BASE_URL",
    description: "Name of this installation for mail servers: MX records of sending domains point at it.",
    parse: hostName,
  },
  smtpPort: {
    variable: "SVC_SMTP_PORT",
    default: "none: bounces, complaints and replies by mail are not received",
    description:
      "Port of the SMTP listener for bounces, complaints and replies to support mails; mail servers connect to port 25.",
    parse: port,
  },
  smtpHost: {
    variable: "SVC_SMTP_HOST",
    default: "SVC_HOST",
    description: "Address of the SMTP listener; 0.0.0.0 for all addresses of this machine.",
    parse: (text: string | undefined) => {
      if (text !== undefined && isIP(text) === 0) throw new RangeError("must be an IP address")
      return text
    },
  },
} as const satisfies Settings

/** This installation as other mail servers know it. */
export interface InboundMail {
  /** Takes bounces: what MX records of sending domains point at. */
  readonly mailHost: string
  /** Where bounces, complaints and answers are taken; port 0: any that is free. Undefined where they are not. */
  readonly listenOn: { readonly host: string; readonly port: number } | undefined
}

export const inboundMailOf = (
  { mailHost, smtpPort, smtpHost }: ValuesOf<typeof inboundSettings>,
  { baseUrl, host }: Pick<Installation, "baseUrl" | "host">,
): InboundMail => ({
  mailHost: mailHost ?? new URL(baseUrl).hostname,
  listenOn: smtpPort === undefined ? undefined : { host: smtpHost ?? host, port: smtpPort },
})
