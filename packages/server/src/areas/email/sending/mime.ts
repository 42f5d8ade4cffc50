import { composeMime } from "../../../kernel/mime.ts"
import type { MailAddress } from "./addresses.ts"

export interface MailAttachment {
  readonly filename: string
  readonly contentType: string
  readonly contentId: string | null
  readonly content: Buffer
}

/** What goes into a mail; the same gives the same bytes. */
export interface MailContent {
  /** `<id@domain>` */
  readonly messageId: string
  readonly from: MailAddress
  readonly to: readonly MailAddress[]
  readonly cc: readonly MailAddress[]
  readonly replyTo: MailAddress | null
  readonly subject: string
  readonly html: string | null
  readonly text: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly attachments: readonly MailAttachment[]
  readonly date: Date
  /** Of which boundaries are made: something that no text of the mail holds. */
  readonly seed: string
}

const toComposer = ({ email, name }: MailAddress) => ({ address: email, name })

/** Headers and body. Blind copies are in the envelope alone. */
export const composeMail = (mail: MailContent): Promise<Buffer> =>
  composeMime({
    messageId: mail.messageId,
    from: toComposer(mail.from),
    to: mail.to.map(toComposer),
    cc: mail.cc.map(toComposer),
    ...(mail.replyTo && { replyTo: toComposer(mail.replyTo) }),
    subject: mail.subject,
    ...(mail.html !== null && { html: mail.html }),
    ...(mail.text !== null && { text: mail.text }),
    headers: { ...mail.headers },
    attachments: mail.attachments.map(({ filename, contentType, contentId, content }) => ({
      ...{ filename, contentType, content },
      ...(contentId !== null && { cid: contentId, contentDisposition: "inline" as const }),
    })),
    date: mail.date,
    baseBoundary: mail.seed,
  })
