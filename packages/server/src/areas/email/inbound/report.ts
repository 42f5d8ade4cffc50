/** What a mail server or a mailbox provider reports about a mail of ours. */
import PostalMime from "postal-mime"
import { responseOf } from "../../../ports/mail/port.ts"

export type Report =
  | {
      readonly kind: "failed" | "delayed"
      /** `5.1.1` (RFC 3463); null where the report has none. */
      readonly enhancedCode: string | null
      readonly code: number | null
      /** This and the host as `responseOf` gives them. */
      readonly response: string
      readonly host: string | null
    }
  | { readonly kind: "complaint"; readonly feedbackType: string; readonly userAgent: string | null }

export interface Inbound {
  /** Undefined for what reports nothing: notices of absence, receipts, spam. */
  readonly report: Report | undefined
  /** Return paths of ours that the report quotes: complaints come to one address for all mails. */
  readonly quotedPaths: readonly string[]
}

const NESTING_MAX = 8
const HEADERS_BYTES_MAX = 65_536
const TEXT_LENGTH_MAX = 65_536
const QUOTED_MAX = 20

/** Feedback by which a person says that a mail is unwanted (RFC 5965, 7.3, and RFC 6650). */
const COMPLAINTS: ReadonlySet<string> = new Set(["abuse", "fraud", "opt-out", "opt-out-list"])

type Fields = ReadonlyMap<string, string>

/** Groups of header fields, divided by empty lines; folded lines are joined. */
const fieldGroups = (text: string): Fields[] =>
  text
    .slice(0, TEXT_LENGTH_MAX)
    .replaceAll("\r\n", "\n")
    .split(/\n[ \t]*\n/)
    .map(group => {
      const lines = group.replaceAll(/\n[ \t]+/g, " ").split("\n")
      const pairs = lines.flatMap(line => {
        const at = line.indexOf(":")
        return at < 1 ? [] : [[line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim()] as const]
      })
      return new Map(pairs)
    })

/** `rfc822; ada@example.org` → `ada@example.org`. */
const afterType = (value: string | undefined): string | undefined => value?.replace(/^[^;]*;\s*/, "")

const codesOf = (text: string) => ({
  enhanced: /(?:^|[^\d.])([245]\.\d{1,3}\.\d{1,3})(?![\d.])/.exec(text)?.[1] ?? null,
  code: Number(/(?:^|[^\d.])([45]\d\d)(?=[ -])/.exec(text)?.[1]) || null,
})

/** A delivery status notification (RFC 3464): the first recipient that has an action to tell. */
const readStatus = (text: string): Report | undefined => {
  for (const fields of fieldGroups(text)) {
    const action = fields.get("action")?.split(/[ ;(]/)[0]?.toLowerCase()
    if (action !== "failed" && action !== "delayed") continue
    const response = afterType(fields.get("diagnostic-code")) ?? fields.get("status") ?? ""
    const host = afterType(fields.get("remote-mta"))
    const codes = codesOf(response)
    const status = codesOf(fields.get("status") ?? "").enhanced
    // The recipient's own server knows best; a relay that lacks a word for it reports x.0.0.
    const isVague = status === null || status.endsWith(".0.0")
    return {
      kind: action,
      enhancedCode: isVague ? (codes.enhanced ?? status) : status,
      code: codes.code,
      response: responseOf(response),
      host: host === undefined ? null : responseOf(host),
    }
  }
  return undefined
}

/** Feedback about a mail (ARF, RFC 5965). */
const readFeedback = (text: string): Report | undefined => {
  const [fields] = fieldGroups(text)
  const feedbackType = fields?.get("feedback-type")?.toLowerCase() ?? ""
  if (!COMPLAINTS.has(feedbackType)) return undefined
  return { kind: "complaint", feedbackType, userAgent: fields?.get("user-agent") ?? null }
}

/** qmail and its like write for people: a mail from nobody that names a permanent code is a bounce. */
const readProse = (text: string): Report | undefined => {
  const line = text
    .slice(0, TEXT_LENGTH_MAX)
    .split("\n")
    .find(each => /(?:^|[^\d.])5\d\d[ -]/.test(each) || /(?:^|[^\d.])5\.\d{1,3}\.\d{1,3}(?![\d.])/.test(each))
  if (line === undefined) return undefined
  const { enhanced, code } = codesOf(line)
  return {
    ...{ kind: "failed", enhancedCode: enhanced, code, host: null },
    response: responseOf(line.trim()),
  }
}

const PATHS = /bounce\+[0-9a-f]{32}\.[0-9a-f]{20}@[a-z0-9.-]{1,253}/gi

/** `isFromNobody`: the envelope had no sender, as that of every automatic answer. Throws for what is no mail. */
export const readReport = async (content: Uint8Array, isFromNobody: boolean): Promise<Inbound> => {
  const mail = await PostalMime.parse(content, {
    forceRfc822Attachments: true,
    attachmentEncoding: "utf8",
    maxNestingDepth: NESTING_MAX,
    maxHeadersSize: HEADERS_BYTES_MAX,
  })
  const partOf = (...types: string[]) => {
    const found = mail.attachments.find(({ mimeType }) => types.includes(mimeType.toLowerCase()))
    return typeof found?.content === "string" ? found.content : undefined
  }
  const status = partOf("message/delivery-status", "message/global-delivery-status")
  const feedback = partOf("message/feedback-report")
  const original = partOf("message/rfc822", "text/rfc822-headers", "message/global") ?? ""
  const quoted = `${feedback ?? ""}\n${original}`.slice(0, TEXT_LENGTH_MAX).match(PATHS) ?? []
  const report =
    (feedback !== undefined ? readFeedback(feedback) : undefined) ??
    (status !== undefined ? readStatus(status) : undefined) ??
    (feedback === undefined && status === undefined && isFromNobody ? readProse(mail.text ?? "") : undefined)
  return { report, quotedPaths: [...new Set(quoted)].slice(0, QUOTED_MAX) }
}
