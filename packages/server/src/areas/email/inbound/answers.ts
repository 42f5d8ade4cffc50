/** Mails by which people answer mails of the platform's own, such as those about support tickets. */
import PostalMime from "postal-mime"
import type { MailReply, ReplyVerdict } from "../../support/offers.ts"

const NESTING_MAX = 8
const HEADERS_BYTES_MAX = 65_536
const HTML_LENGTH_MAX = 262_144
const HTML_OPTIONS = {
  wordwrap: false,
  limits: { maxInputLength: HTML_LENGTH_MAX, maxDepth: 100, maxChildNodes: 20_000 },
  selectors: [{ selector: "img", format: "skip" }],
} as const

/** Quotations get their `>` by this. The library is loaded where there is no other way: few mails are all HTML. */
const textOf = async (html: string): Promise<string> => {
  const { compile } = await import("html-to-text")
  return compile(HTML_OPTIONS)(html)
}

/** Words of `Precedence` that lists and robots use. */
const OF_ROBOTS: ReadonlySet<string> = new Set(["bulk", "junk", "list"])

/** Undefined for what no person wrote (RFC 3834), and for what says no sender. Throws for what is no mail. */
export const readAnswer = async (content: Uint8Array): Promise<Omit<MailReply, "address"> | undefined> => {
  const mail = await PostalMime.parse(content, {
    maxNestingDepth: NESTING_MAX,
    maxHeadersSize: HEADERS_BYTES_MAX,
  })
  const header = (name: string) =>
    mail.headers
      .find(({ key }) => key === name)
      ?.value.trim()
      .toLowerCase()
  const isAutomatic = (header("auto-submitted") ?? "no") !== "no" || OF_ROBOTS.has(header("precedence") ?? "")
  const from = mail.from?.address
  if (isAutomatic || !from) return undefined
  // One without an id cannot be told from its repetition, but by what it says and when.
  const mailId = mail.messageId ?? `${mail.date ?? ""} ${mail.subject ?? ""}`
  const text = mail.text ?? (await textOf(mail.html ?? ""))
  return { from, text, mailId }
}

interface SmtpRefusal {
  readonly code: number
  readonly text: string
}

/** What the sender's server is told; undefined where the mail is taken. */
export const refusalOf = (verdict: ReplyVerdict): SmtpRefusal | undefined => refusals[verdict]

const refusals: Readonly<Record<ReplyVerdict, SmtpRefusal | undefined>> = {
  taken: undefined,
  duplicate: undefined,
  unknown_address: { code: 550, text: "5.1.1 No such mailbox, and no relaying" },
  foreign_sender: { code: 550, text: "5.7.1 This address is for whom it was given to" },
  empty: { code: 550, text: "5.6.0 There is nothing above the quoted text" },
  closed: { code: 550, text: "5.2.1 The ticket is closed" },
  full: { code: 552, text: "5.2.2 The ticket takes no more comments" },
}
