import {
  type areas,
  EMAIL_ATTACHMENT_BYTES_MAX,
  EMAIL_RECIPIENTS_MAX,
  EMAIL_SCHEDULE_DAYS_MAX,
  type Input,
  page,
  pageOf,
} from "@svc/contract"
import type { Call } from "../../../kernel/call.ts"
import { fault } from "../../../kernel/fault.ts"
import type { Handlers } from "../../../kernel/implement.ts"
import type { Renderer } from "../templates/renderer.ts"
import { missingVariables, mistypedVariables, withDefaults } from "../templates/rules.ts"
import { type TemplateRow, templateStore } from "../templates/store.ts"
import type { Accept, NewMail } from "./accept.ts"
import { type AddressInput, readAddress, readAddresses } from "./addresses.ts"
import { readHeaders } from "./headers.ts"
import { toAccepted, toMessage } from "./payloads.ts"
import { messageStore, type Owner } from "./store.ts"

type Specs = typeof areas.email.specs
type Operations = Pick<
  Specs,
  "sendTransactional" | "sendRaw" | "listMessages" | "getMessage" | "cancelMessage"
>
type RawInput = Input<Specs["sendRaw"]>
type TxInput = Input<Specs["sendTransactional"]>
type Shared = Omit<RawInput, "subject" | "html" | "text">
type Rendered = Pick<NewMail, "subject" | "html" | "text" | "template" | "bulk"> & {
  readonly fallbackFrom?: string | null
  readonly fallbackReplyTo?: string | null
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
  { organization, project, now }: Pick<Call, "organization" | "project" | "now">,
  { fallbackFrom, fallbackReplyTo, ...rendered }: Rendered,
): NewMail => {
  const from = input.from ?? fallbackFrom
  const replyTo = input.reply_to ?? fallbackReplyTo
  return {
    ...{ organization, projectId: project?.id ?? null, ...readRecipients(input), ...rendered },
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

const ownerOf = ({ organization, project }: Call): Owner => ({
  organizationId: organization.id,
  projectId: project?.id ?? null,
})

export interface SendingNeeds {
  readonly accept: Accept
  readonly renderer: Renderer
}

const sendHandlers = ({
  accept,
  renderer,
}: SendingNeeds): Pick<Handlers<Operations>, "sendTransactional" | "sendRaw"> => {
  const send = async (mail: NewMail, call: Call) => {
    const accepted = await accept(call.db, mail, call.now)
    const { message, sends } = accepted
    call.describe({
      targets: [{ type: "email", id: message.id }],
      metadata: { recipients: accepted.recipients.length },
    })
    if (sends > 0) call.meter("email_sends", sends)
    return toAccepted(accepted)
  }

  const renderTemplate = async (input: TxInput, { db, organization }: Call): Promise<Rendered> => {
    const row = await templateStore(db).findNamed(organization.id, input.template)
    if (!row) throw fault("template_not_found", { id: input.template })
    const data = input.data ?? {}
    checkData(row, data)
    const { subject, html, text } = row
    const rendered = await renderer.run(organization.id, {
      ...{ kind: "render", sources: { subject, html, text }, data: withDefaults(row.variables, data) },
    })
    return {
      ...{ ...rendered, subject: input.subject ?? rendered.subject, template: row.name, bulk: row.bulk },
      ...{ fallbackFrom: row.from_address, fallbackReplyTo: row.reply_to },
    }
  }

  return {
    async sendTransactional(input, call) {
      // Read before anything is rendered: what is wrong with the addresses costs nobody time.
      readRecipients(input)
      return send(readMail(input, call, await renderTemplate(input, call)), call)
    },

    async sendRaw(input, call) {
      const { subject, html = null } = input
      if (html === null && input.text === undefined) throw fault("missing_parameter", { field: "html" })
      const mail = readMail(input, call, { subject, html, text: null, template: null, bulk: false })
      const text =
        input.text ??
        (html === null ? null : await renderer.run(call.organization.id, { kind: "plain", html }))
      return send({ ...mail, text }, call)
    },
  }
}

export const sendingHandlers = (needs: SendingNeeds): Handlers<Operations> => {
  const find = async (call: Call, id: string) => {
    const message = await messageStore(call.db).find(ownerOf(call), id)
    if (!message) throw fault("resource_not_found", { id })
    return message
  }

  return {
    ...sendHandlers(needs),

    async listMessages(input, call) {
      const store = messageStore(call.db)
      const { recipient, template } = input
      const { rows, total } = await store.list(ownerOf(call), { ...pageOf(input), recipient, template })
      const recipients = Map.groupBy(
        await store.recipientsOf(
          call.organization.id,
          rows.map(({ id }) => id),
        ),
        ({ email_id }) => email_id,
      )
      const data = rows.map(row => toMessage(row, recipients.get(row.id) ?? [], call.now))
      return page({ rows: data, total }, input)
    },

    async getMessage({ id }, call) {
      const message = await find(call, id)
      const recipients = await messageStore(call.db).recipientsOf(call.organization.id, [id])
      return { ...toMessage(message, recipients, call.now), html: message.html, text: message.text }
    },

    async cancelMessage({ id }, call) {
      const message = await find(call, id)
      const store = messageStore(call.db)
      const cancelled = await store.cancel(call.organization.id, id, call.now)
      const recipients = await store.recipientsOf(call.organization.id, [id])
      const isCancelled = cancelled > 0 || recipients.some(({ status }) => status === "cancelled")
      const after = toMessage(message, recipients, call.now)
      if (!isCancelled) throw fault("invalid_state_transition", { state: after.status })
      call.describe({ targets: [{ type: "email", id }] })
      return after
    },
  }
}
