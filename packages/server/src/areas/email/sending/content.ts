import type { Db } from "../../../kernel/db/database.ts"
import type { EmailDelivery } from "../delivery.ts"
import { composeMail } from "./mime.ts"
import { type AttachmentRow, type MessageRow, messageStore, type RecipientRow } from "./store.ts"

/** What differs from recipient to recipient, and what is kept beside the message. */
export interface RecipientContent {
  readonly html: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly attachments: readonly AttachmentRow[]
}

/** The message as that recipient gets it. The same each time. */
export const contentOf = async (
  db: Db,
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
    headers: bulk ? { ...(await delivery.unsubscribeHeaders(of)), ...headers } : headers,
    attachments: await messageStore(db).attachmentsOf(organizationId, message.id),
  }
}

export const mailOf = (message: MessageRow, content: RecipientContent): Promise<Buffer> =>
  composeMail({
    messageId: message.message_id,
    from: { email: message.from_address, name: message.from_name },
    to: message.to_addresses,
    cc: message.cc_addresses,
    replyTo: message.reply_to,
    ...{ subject: message.subject, text: message.text, html: content.html, headers: content.headers },
    attachments: content.attachments.map(row => ({
      filename: row.filename,
      contentType: row.content_type,
      contentId: row.content_id,
      content: row.content,
    })),
    date: message.scheduled_at ?? message.created_at,
    seed: message.id,
  })
