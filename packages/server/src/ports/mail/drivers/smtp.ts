import type { Socket } from "node:net"
import {
  type MailOutcome,
  type MailPort,
  type MailReply,
  type OutgoingMail,
  type RelayOptions,
  responseOf,
} from "../port.ts"

export interface SmtpOptions {
  readonly relay: RelayOptions
  /** What we call ourselves in EHLO. */
  readonly helo: string
  /** Connects in the place of Node; for hosts that tenants name. */
  readonly connect?: ((host: string, port: number) => Promise<Socket>) | undefined
  /** Whether the server is the recipient's own. */
  readonly isDestination?: boolean
  readonly connectionsMax?: number
}

const TIMEOUT_MS = 60_000
const CONNECT_MS_MAX = 10_000
const IDLE_MS = 10_000

/** RFC 3463, where it stands after the code. */
const ENHANCED = /^[245]\d\d[ -]([245]\.\d{1,3}\.\d{1,3})\b/

interface SmtpFailure {
  readonly code?: string
  readonly responseCode?: number
  readonly response?: string
  readonly message: string
}

const replyOf = (text: string, host: string, code?: number): MailReply => ({
  code: code ?? (Number(/^\d{3}/.exec(text)?.[0]) || null),
  enhancedCode: ENHANCED.exec(text)?.[1] ?? null,
  response: responseOf(text),
  host,
  address: null,
})

/** A wrong password is the relay's business and not the recipient's: it may be mended. */
const outcomeOf = (error: SmtpFailure, host: string): MailOutcome => {
  const reply = replyOf(error.response ?? error.message, host, error.responseCode)
  const isRefusal = error.code === "EENVELOPE" || error.code === "EMESSAGE"
  return { kind: isRefusal && (reply.code ?? 0) >= 500 ? "rejected" : "deferred", reply }
}

const tlsOf = ({ security, host }: RelayOptions) => {
  // Servers of the Internet often have certificates of other names; without encryption the mail would go in the clear.
  if (security === "opportunistic") return { opportunisticTLS: true, tls: { rejectUnauthorized: false } }
  return {
    secure: security === "tls",
    requireTLS: security === "starttls",
    ignoreTLS: security === "none",
    tls: { servername: host, rejectUnauthorized: true },
  }
}

/** One server over a few connections that stay open for the next mails. */
export const openSmtpMail = (options: SmtpOptions): MailPort => {
  const { relay, helo, connect, isDestination = false, connectionsMax = 5 } = options
  const { host, port, username, password, maxPerSecond } = relay
  const open = async () => {
    // Late: an installation without a relay does without its megabytes.
    const { createTransport } = await import("nodemailer")
    const transport = createTransport({
      pool: true,
      ...{ host, port, name: helo, maxConnections: connectionsMax },
      // A mail whose connection broke may have been taken: when to send it again is not for the pool to say.
      maxRequeues: 0,
      idleTimeout: IDLE_MS,
      ...{ connectionTimeout: CONNECT_MS_MAX, greetingTimeout: CONNECT_MS_MAX, socketTimeout: TIMEOUT_MS },
      ...{ disableFileAccess: true, disableUrlAccess: true },
      ...tlsOf(relay),
      ...(username !== null && { auth: { user: username, pass: password ?? "" } }),
      ...(maxPerSecond !== null && { rateLimit: maxPerSecond }),
      ...(connect && {
        getSocket: (
          _options: unknown,
          done: (error: Error | null, result?: { connection: Socket }) => void,
        ) => {
          connect(host, port).then(
            connection => done(null, { connection }),
            (error: Error) => done(error),
          )
        },
      }),
    })
    // The pool tells every failure to the mail that ran into it; nobody else listens.
    transport.on("error", () => undefined)
    return transport
  }
  let opened: ReturnType<typeof open> | undefined

  return {
    capabilities: { by: isDestination ? "server" : "relay", timeoutMs: TIMEOUT_MS },
    async send({ sender, recipient, content }: OutgoingMail): Promise<MailOutcome> {
      // A signal with a timeout of its own would fire for every mail, long after it has left.
      const deadline = new AbortController()
      const timer = setTimeout(() => deadline.abort(), TIMEOUT_MS)
      try {
        const envelope = { from: sender, to: [recipient] }
        opened ??= open()
        const transport = await opened
        const { response } = await transport.sendMail({ envelope, raw: content, signal: deadline.signal })
        return { kind: "accepted", reply: replyOf(response, host) }
      } catch (error) {
        return outcomeOf(error as SmtpFailure, host)
      } finally {
        clearTimeout(timer)
      }
    },
    [Symbol.asyncDispose]: async () => (await opened)?.close(),
  }
}
