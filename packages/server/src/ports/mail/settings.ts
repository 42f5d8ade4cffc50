import type { Settings } from "../../kernel/setting.ts"
import { mailAddress, word } from "../../kernel/setting-parsers.ts"

export interface SmtpServer {
  readonly host: string
  readonly port: number
  readonly security: "tls" | "starttls" | "opportunistic"
  readonly username: string | null
  readonly password: string | null
}

const LOOPBACK_HOST = /^(localhost|127(\.\d+){3}|\[::1\])$/

/** `smtps:` is TLS from the start. A password crosses the network encrypted, or not at all. */
export const smtpServer = (text: string | undefined): SmtpServer | undefined => {
  if (text === undefined) return undefined
  const parsed = URL.canParse(text) ? new URL(text) : undefined
  if (!parsed || !["smtp:", "smtps:"].includes(parsed.protocol) || parsed.hostname === "")
    throw new RangeError("must be a URL such as smtp://user:password@host:587")
  const { protocol, hostname, port, username, password } = parsed
  const isTls = protocol === "smtps:"
  const mustEncrypt = username !== "" && !LOOPBACK_HOST.test(hostname)
  return {
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: Number(port || (isTls ? 465 : 587)),
    security: isTls ? "tls" : mustEncrypt ? "starttls" : "opportunistic",
    username: username === "" ? null : decodeURIComponent(username),
    password: password === "" ? null : decodeURIComponent(password),
  }
}

export const settings = {
  smtpServer: {
    variable: "SVC_SMTP_URL",
    default: "none: mails are stored in the dev inbox and not sent",
    description:
      "SMTP server that sends all mail: `smtp://user:password@host:587`, or `smtps:` for TLS from the start.",
    secret: true,
    parse: smtpServer,
  },
  mailFrom: {
    variable: "SVC_MAIL_FROM",
    default: "no-reply@ and the host of SVC_BASE_URL",
    description: "Sender of mails that name no other.",
    parse: mailAddress,
  },
  mailDirect: {
    variable: "SVC_MAIL_DIRECT",
    default: "off",
    description: "`on` delivers mails directly to the servers of recipients, which needs outgoing port 25.",
    parse: word("off", "on"),
  },
} as const satisfies Settings
