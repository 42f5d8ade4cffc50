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
    otherwise: "none: mails stay in the mailbox of this installation",
    meaning:
      "Mail server that carries mails on: `smtp://user:password@host:587`, or `smtps:` for TLS from the start.",
    secret: true,
    parse: smtpServer,
  },
  mailFrom: {
    variable: "SVC_MAIL_FROM",
    otherwise: "no-reply@ and the host of SVC_BASE_URL",
    meaning: "Sender of mails for which nobody names another.",
    parse: mailAddress,
  },
  mailDirect: {
    variable: "SVC_MAIL_DIRECT",
    otherwise: "off",
    meaning: "`on` lets mails go straight to the servers of recipients, for which port 25 must be open.",
    parse: word("off", "on"),
  },
} as const satisfies Settings
