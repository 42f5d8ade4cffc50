import type { EmailDelivery } from "../delivery.ts"
import { composeMail } from "./mime.ts"
import type { AttachmentRow, MessageRow, RecipientRow } from "./store.ts"

/** What differs from recipient to recipient. */
export interface RecipientContent {
  readonly html: string | null
  readonly headers: Readonly<Record<string, string>>
}

/** One of ours beside it would be a second one, and the promise of one click would be made of theirs. */
const hasOwnUnsubscribe = (headers: MessageRow["headers"]): boolean =>
  Object.keys(headers).some(name => name.toLowerCase() === "list-unsubscribe")

/** The message as that recipient gets it. The same each time. */
export const contentOf = async (
  delivery: EmailDelivery,
  message: MessageRow,
  recipient: RecipientRow,
): Promise<RecipientContent> => {
  const { organization_id: organizationId, html, headers, bulk } = message
  const of = { organizationId, recipientId: recipient.id }
  const wanted = { opens: message.track_opens, clicks: message.track_clicks }
  const isTracked = wanted.opens || wanted.clicks
  return {
    html: html !== null && isTracked ? await delivery.track(of, html, wanted) : html,
    headers:
      bulk && !hasOwnUnsubscribe(headers)
        ? { ...(await delivery.unsubscribeHeaders(of)), ...headers }
        : headers,
  }
}

export const mailOf = (
  message: MessageRow,
  content: RecipientContent,
  attachments: readonly AttachmentRow[],
): Promise<Buffer> =>
  composeMail({
    messageId: message.message_id,
    from: { email: message.from_address, name: message.from_name },
    to: message.to_addresses,
    cc: message.cc_addresses,
    replyTo: message.reply_to,
    ...{ subject: message.subject, text: message.text, html: content.html, headers: content.headers },
    attachments: attachments.map(row => ({
      filename: row.filename,
      contentType: row.content_type,
      contentId: row.content_id,
      content: row.content,
    })),
    date: message.scheduled_at ?? message.created_at,
    seed: message.id,
  })
