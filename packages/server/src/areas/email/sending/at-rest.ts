/** Bodies and attachments of mails as they are stored: encrypted with the tenant's key where the operator asks for it. */
import type { AtRest } from "../../../core/secrets/at-rest.ts"
import type { AttachmentRow, MessageRow } from "./store.ts"

type Body = Pick<MessageRow, "organization_id" | "id" | "html" | "text">

const contextOf = (id: string, part: string): string => `mail:${id}:${part}`

/** What is done with each text of one mail. */
const withTexts = async <M extends Body>(
  message: M,
  act: (context: string, text: string) => string | Promise<string>,
): Promise<M> => {
  const { id, html, text } = message
  return {
    ...message,
    html: html === null ? null : await act(contextOf(id, "html"), html),
    text: text === null ? null : await act(contextOf(id, "text"), text),
  }
}

export const encryptMail = <M extends Body>(atRest: AtRest, message: M): Promise<M> =>
  withTexts(message, (context, text) => atRest.write(message.organization_id, context, text))

export const decryptMail = <M extends Body>(atRest: AtRest, message: M): Promise<M> =>
  withTexts(message, (context, text) => atRest.read(message.organization_id, context, text))

const withContents = (
  rows: readonly AttachmentRow[],
  act: (tenantId: string, context: string, content: Buffer) => Promise<Buffer>,
): Promise<AttachmentRow[]> =>
  Promise.all(
    rows.map(async row => ({
      ...row,
      content: await act(row.organization_id, contextOf(row.email_id, String(row.position)), row.content),
    })),
  )

export const encryptAttachments = (
  atRest: AtRest,
  rows: readonly AttachmentRow[],
): Promise<AttachmentRow[]> => withContents(rows, atRest.writeBytes)

export const decryptAttachments = (
  atRest: AtRest,
  rows: readonly AttachmentRow[],
): Promise<AttachmentRow[]> => withContents(rows, atRest.readBytes)
