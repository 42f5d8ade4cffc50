/** What a request to send says, checked and rendered. */

import {
  type areas,
  EMAIL_ATTACHMENT_BYTES_MAX,
  EMAIL_RECIPIENTS_MAX,
  EMAIL_SCHEDULE_DAYS_MAX,
  type Input,
} from "@svc/contract"
import type { Db } from "../../../kernel/db/database.ts"
import { fault } from "../../../kernel/fault.ts"
import { requireRow } from "../../../kernel/require-row.ts"
import type { Renderer } from "../templates/renderer.ts"
import { missingVariables, mistypedVariables, withDefaults } from "../templates/rules.ts"
import { type TemplateRow, templateStore } from "../templates/store.ts"
import type { NewMail } from "./accept.ts"
import { type AddressInput, readAddress, readAddresses } from "./addresses.ts"
import { readHeaders } from "./headers.ts"

type Specs = typeof areas.email.specs
export type RawInput = Input<Specs["sendRaw"]>
export type TxInput = Input<Specs["sendTransactional"]>
type Shared = Omit<RawInput, "subject" | "html" | "text">
type Rendered = Pick<NewMail, "subject" | "html" | "text" | "template" | "bulk"> & {
  readonly fallbackFrom?: string | null
  readonly fallbackReplyTo?: string | null
}

/** In whose name, and when. */
export interface Sender {
  readonly organization: NewMail["organization"]
  readonly projectId: string | null
  readonly now: Date
}

const DAY_MS = 86_400_000
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

const invalid = (reason: string) => fault("invalid_parameter", { reason })

const readAttachments = (given: Shared["attachments"] = []): NewMail["attachments"] => {
  const attachments = given.map(({ filename, content, content_type, content_id }, index) => {
    if (!BASE64.test(content)) throw invalid(`attachments[${index}].content is not base64`)
    return {
      filename,
      contentType: content_type ?? "application/octet-stream",
      contentId: content_id ?? null,
      content: Buffer.from(content, "base64"),
    }
  })
  const bytes = attachments.reduce((sum, { content }) => sum + content.length, 0)
  if (bytes > EMAIL_ATTACHMENT_BYTES_MAX)
    throw invalid(`attachments are over ${EMAIL_ATTACHMENT_BYTES_MAX} bytes together`)
  return attachments
}

/** A time that is past means now. */
const readSchedule = (text: string | null | undefined, now: Date): Date | null => {
  if (text === null || text === undefined) return null
  const at = new Date(text)
  if (at.getTime() > now.getTime() + EMAIL_SCHEDULE_DAYS_MAX * DAY_MS)
    throw invalid(`scheduled_at is more than ${EMAIL_SCHEDULE_DAYS_MAX} days ahead`)
  return at > now ? at : null
}

const readRecipients = (input: Shared) => {
  const read = (field: "to" | "cc" | "bcc") =>
    readAddresses(field, input[field] as AddressInput | readonly AddressInput[] | undefined)
  const recipients = { to: read("to"), cc: read("cc"), bcc: read("bcc") }
  const count = recipients.to.length + recipients.cc.length + recipients.bcc.length
  if (recipients.to.length === 0) throw invalid("to names nobody")
  if (count > EMAIL_RECIPIENTS_MAX) throw invalid(`a mail has at most ${EMAIL_RECIPIENTS_MAX} recipients`)
  return recipients
}

const readMail = (
  input: Shared,
  recipients: Pick<NewMail, "to" | "cc" | "bcc">,
  { organization, projectId, now }: Sender,
  { fallbackFrom, fallbackReplyTo, ...rendered }: Rendered,
): NewMail => {
  const from = input.from ?? fallbackFrom
  const replyTo = input.reply_to ?? fallbackReplyTo
  return {
    ...{ organization, projectId, ...recipients, ...rendered },
    from: from ? readAddress("from", from as AddressInput) : undefined,
    replyTo: replyTo ? readAddress("reply_to", replyTo as AddressInput) : null,
    headers: readHeaders(input.headers),
    tags: Object.fromEntries((input.tags ?? []).map(({ name, value }) => [name, value])),
    attachments: readAttachments(input.attachments),
    scheduledAt: readSchedule(input.scheduled_at, now),
    trackOpens: input.track_opens,
    trackClicks: input.track_clicks,
  }
}

/** Throws `template_variable_missing` rather than mail a blank. */
const checkData = ({ variables }: TemplateRow, data: Readonly<Record<string, unknown>>) => {
  const missing = missingVariables(variables, data)
  if (missing.length > 0) throw fault("template_variable_missing", { names: missing.join(", ") })
  const wrong = mistypedVariables(variables, data)
  if (wrong.length > 0) throw invalid(`data must have ${wrong.join(", ")}`)
}

export interface Reading {
  raw(input: RawInput, sender: Sender): Promise<NewMail>
  transactional(db: Db, input: TxInput, sender: Sender): Promise<NewMail>
}

/** Each throws the faults of its operation. */
export const createReading = (renderer: Renderer): Reading => ({
  async raw(input, sender) {
    const { subject, html = null } = input
    if (html === null && input.text === undefined) throw fault("missing_parameter", { field: "html" })
    const mail = readMail(input, readRecipients(input), sender, {
      subject,
      html,
      text: null,
      template: null,
      bulk: false,
    })
    const plain = () => renderer.run(sender.organization.id, { kind: "plain", html: html ?? "" })
    return { ...mail, text: input.text ?? (await plain()) }
  },

  async transactional(db, input, sender) {
    // Read before anything is rendered: what is wrong with the addresses costs nobody time.
    const recipients = readRecipients(input)
    const { organization } = sender
    const row = await requireRow(
      templateStore(db).findNamed(
        { organizationId: organization.id, projectId: sender.projectId },
        input.template,
      ),
      "template_not_found",
      { id: input.template },
    )
    const data = input.data ?? {}
    checkData(row, data)
    const { subject, html, text } = row
    const rendered = await renderer.run(organization.id, {
      ...{ kind: "render", sources: { subject, html, text }, data: withDefaults(row.variables, data) },
    })
    return readMail(input, recipients, sender, {
      ...{ ...rendered, subject: input.subject ?? rendered.subject, template: row.name, bulk: row.bulk },
      ...{ fallbackFrom: row.from_address, fallbackReplyTo: row.reply_to },
    })
  },
})
