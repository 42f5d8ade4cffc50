import { type areas, page, pageOf } from "@svc/contract"
import type { AtRest } from "../../../core/secrets/at-rest.ts"
import type { Call } from "../../../kernel/call.ts"
import type { Handlers } from "../../../kernel/implement.ts"
import { requireRow } from "../../../kernel/require-row.ts"
import type { EmailDelivery } from "../delivery.ts"
import { shown } from "./addresses.ts"
import { decryptAttachments, decryptMail } from "./at-rest.ts"
import { contentOf, mailOf } from "./content.ts"
import { readAttachments } from "./due-store.ts"
import { INBOX_HEADERS, INBOX_PAGE } from "./inbox-page.ts"
import { messageStore } from "./store.ts"

type Operations = Pick<typeof areas.email.specs, "listInbox" | "getInbox" | "inboxPage" | "deleteInbox">

interface Captured {
  readonly recipient_id: string
  readonly id: string
  readonly message_id: string
  readonly from_address: string
  readonly from_name: string
  readonly address: string
  readonly subject: string
  readonly captured_at: Date | null
}

const toItem = (row: Captured) => ({
  id: row.recipient_id,
  email_id: row.id,
  message_id: row.message_id,
  from: shown({ email: row.from_address, name: row.from_name }),
  to: row.address,
  subject: row.subject,
  captured_at: row.captured_at?.toISOString() ?? "",
})

/** The mailbox keeps no copies: a mail is composed again, and comes out the same. */
export const inboxHandlers = ({
  delivery,
  atRest,
}: {
  readonly delivery: EmailDelivery
  readonly atRest: AtRest
}): Handlers<Operations> => {
  const requireCaptured = (call: Call, id: string) =>
    requireRow(messageStore(call.db).findCaptured(call.tenant, id), "resource_not_found", { id })

  return {
    async listInbox(input, call) {
      const listing = { ...pageOf(input), to: input.to }
      const { rows, total } = await messageStore(call.db).listCaptured(call.tenant, listing)
      return page({ rows: rows.map(toItem), total }, input)
    },

    async getInbox({ id }, call) {
      const { message: stored, recipient } = await requireCaptured(call, id)
      const message = await decryptMail(atRest, stored)
      const content = await contentOf(delivery, message, recipient)
      const attachments = await decryptAttachments(atRest, await readAttachments(call.db, [message]))
      const raw = await mailOf(message, content, attachments)
      const { address, captured_at } = recipient
      return {
        ...toItem({ ...message, recipient_id: id, address, captured_at }),
        ...{ text: message.text, html: content.html, raw: raw.toString("latin1") },
        attachments: attachments.map(({ filename, content_type, content: bytes }) => ({
          ...{ filename, content_type, size_bytes: bytes.length, content: bytes.toString("base64") },
        })),
      }
    },

    inboxPage(_input, call) {
      for (const [name, value] of Object.entries(INBOX_HEADERS)) call.setHeader(name, value)
      return INBOX_PAGE
    },

    async deleteInbox({ id }, call) {
      await requireCaptured(call, id)
      await messageStore(call.db).uncapture(call.organization.id, id)
      call.describe({ targets: [{ type: "email_capture", id }] })
    },
  }
}
