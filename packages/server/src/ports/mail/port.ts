/**
 * Carries one mail to one recipient. What becomes of it later, and when it is tried again, is the caller's to keep.
 *
 * Promises, tested by `conformance.ts`:
 *
 * - Outcome: `send` never rejects for what a server says or is; it tells whether the mail was taken, may be taken later,
 *   or will not be taken.
 * - Wholeness: the content arrives as the bytes that were given, whatever lines it has.
 * - Once: a mail that was not taken for certain is `deferred`, and is not sent again by the driver itself.
 * - Bounds: a server that hangs or drips is given up after `capabilities.timeoutMs`.
 */
import { openedToken } from "../../kernel/token.ts"

export interface MailPort extends AsyncDisposable {
  readonly capabilities: MailCapabilities
  send(mail: OutgoingMail): Promise<MailOutcome>
}

export interface MailCapabilities {
  /** `mailbox`: it stays in this installation; `relay`: a server carries it on; `server`: the recipient's own takes it. */
  readonly by: "mailbox" | "relay" | "server"
  readonly timeoutMs: number
}

export interface OutgoingMail {
  /** Envelope sender; empty for mail that must not bounce. */
  readonly sender: string
  readonly recipient: string
  /** Headers and body (RFC 5322), lines ended by CRLF. */
  readonly content: Buffer
}

const RESPONSE_LENGTH_MAX = 500

/** What is kept of a server's words: not more than 500 characters, and none that a database refuses. */
export const responseOf = (text: string): string =>
  text.replaceAll("\0", "").slice(0, RESPONSE_LENGTH_MAX).toWellFormed()

/** What the other server said. */
export interface MailReply {
  readonly code: number | null
  /** `5.1.1` (RFC 3463). */
  readonly enhancedCode: string | null
  /** As `responseOf` gives it. */
  readonly response: string
  readonly host: string | null
  readonly address: string | null
}

export type MailOutcome =
  /** The other side has taken the responsibility for it. */
  | { readonly kind: "accepted"; readonly reply: MailReply | null }
  /** Not now: a 4xx, or there was no conversation. */
  | { readonly kind: "deferred"; readonly reply: MailReply }
  /** Never: a 5xx. */
  | { readonly kind: "rejected"; readonly reply: MailReply }

/** A server that takes mail for others. */
export interface RelayOptions {
  readonly host: string
  readonly port: number
  /** `starttls` insists on it; `opportunistic` takes what it can get. */
  readonly security: "starttls" | "tls" | "none" | "opportunistic"
  readonly username: string | null
  readonly password: string | null
  /** Null: no bound. */
  readonly maxPerSecond: number | null
}

export interface Mails extends AsyncDisposable {
  /** Sender of mails for which nobody names another. */
  readonly from: string
  /** How this installation sends: the operator's relay, or the recipients' servers, or the mailbox. */
  readonly provider: MailPort
  /** Undefined where the operator did not allow it. */
  readonly direct: MailPort | undefined
  /** A tenant's own server. */
  relay(of: RelayOptions): MailPort
}

/** The ways by which mails leave. */
export const mails = openedToken<Mails>("mails")
