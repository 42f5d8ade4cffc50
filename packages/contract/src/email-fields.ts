/** Mails, recipients and templates in requests and replies. */
import { T } from "./dsl.ts"
import { described, Id, Nullable, OneOf, Time } from "./types.ts"

/** Recipients of one mail: to, cc and bcc together. */
export const EMAIL_RECIPIENTS_MAX = 50
export const EMAIL_ATTACHMENTS_MAX = 20
/** Bytes of all attachments of a mail, decoded. */
export const EMAIL_ATTACHMENT_BYTES_MAX = 10 * 1024 * 1024
/** Characters of an HTML or text body, and of a template. */
export const EMAIL_BODY_LENGTH_MAX = 512 * 1024
/** How far ahead a mail can be scheduled. */
export const EMAIL_SCHEDULE_DAYS_MAX = 30

const ADDRESS_LENGTH_MAX = 400

/** `a@x.dev`, `App <a@x.dev>`, or its parts. */
export const Address = T.Union([
  T.String({ minLength: 3, maxLength: ADDRESS_LENGTH_MAX, description: "`a@x.dev` or `Name <a@x.dev>`" }),
  T.Object(
    {
      email: T.String({ minLength: 3, maxLength: ADDRESS_LENGTH_MAX, description: "The address alone" }),
      name: T.Optional(T.String({ maxLength: 200, description: "Name that mail programs show" })),
    },
    { additionalProperties: false },
  ),
])

export const Addresses = T.Union([Address, T.Array(Address, { maxItems: EMAIL_RECIPIENTS_MAX })])

export const Subject = T.String({
  minLength: 1,
  maxLength: 998,
  pattern: "^[^\\u0000-\\u001f\\u007f]+$",
  description: "Subject line",
})
export const Body = T.String({ maxLength: EMAIL_BODY_LENGTH_MAX })

export const Tag = T.Object(
  {
    name: T.String({
      minLength: 1,
      maxLength: 64,
      pattern: "^[A-Za-z0-9_-]+$",
      description: "Name of the tag",
    }),
    value: T.String({ maxLength: 256, description: "Value of the tag" }),
  },
  { additionalProperties: false },
)

export const Attachment = T.Object(
  {
    filename: T.String({
      minLength: 1,
      maxLength: 255,
      pattern: "^[^\\u0000-\\u001f\\u007f/\\\\]+$",
      description: "Name of the file",
    }),
    content: T.String({ description: "Base64", maxLength: Math.ceil(EMAIL_ATTACHMENT_BYTES_MAX / 3) * 4 }),
    content_type: T.Optional(
      T.String({
        maxLength: 127,
        pattern: "^[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+$",
        description: "Media type; derived from the file name when left out",
      }),
    ),
    content_id: T.Optional(
      Nullable(
        T.String({ maxLength: 128, pattern: "^[A-Za-z0-9._@-]+$", description: "For `cid:` in HTML" }),
      ),
    ),
  },
  { additionalProperties: false },
)

export const recipientStatuses = [
  "queued",
  "delayed",
  "delivered",
  "bounced",
  "complained",
  "failed",
  "suppressed",
  "cancelled",
] as const

export type RecipientStatus = (typeof recipientStatuses)[number]

export const MessageStatus = OneOf([
  "scheduled",
  "queued",
  "delivered",
  "partially_delivered",
  "bounced",
  "complained",
  "failed",
  "suppressed",
  "cancelled",
])

export const Recipient = T.Object({
  email: T.String({ description: "Address of the recipient" }),
  kind: OneOf(["to", "cc", "bcc"], { description: "Header that named the recipient" }),
  status: OneOf(recipientStatuses, { description: "State of the delivery to this recipient" }),
  attempts: T.Integer({ description: "Number of attempts so far" }),
  captured: T.Boolean({
    description:
      "True if the mail was stored in the dev inbox of this installation instead of being sent, because no mail relay is configured",
  }),
  last_error: Nullable(
    T.String({ description: "Last response of the recipient's server; null before the first attempt" }),
  ),
  updated_at: Time,
})

export const Accepted = T.Object({
  id: Id,
  message_id: T.String({ description: "`Message-ID` header" }),
  status: OneOf(["queued", "scheduled", "suppressed"], {
    description: "`suppressed` if all recipients are suppressed",
  }),
  accepted_at: Time,
  recipients: T.Array(
    T.Object({
      email: T.String(),
      status: OneOf(["queued", "suppressed"], { description: "`suppressed`: the address gets no mail" }),
    }),
    { description: "All recipients, with what happens next" },
  ),
})

export const messageFields = {
  id: Id,
  message_id: T.String({ description: "`Message-ID` header" }),
  status: described(MessageStatus, "Summary of the states of all recipients"),
  from: T.String({ description: "Sender" }),
  subject: T.String(),
  template: Nullable(T.String(), { description: "Name of the template; null for mail without one" }),
  tags: T.Array(Tag, { description: "Tags that the sender gave" }),
  recipients: T.Array(Recipient, { description: "Recipients with the state of each delivery" }),
  scheduled_at: Nullable(Time, {
    description: "RFC 3339 time in UTC when it is to be sent; null for at once",
  }),
  accepted_at: described(Time, "RFC 3339 time in UTC of the request that sent it"),
}

export const Variable = T.Object(
  {
    name: T.String({
      minLength: 1,
      maxLength: 64,
      pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
      description: "Name as the template uses it",
    }),
    type: T.Optional(
      OneOf(["string", "number", "boolean", "array", "object"], {
        description: "Type that values must have; any when left out",
      }),
    ),
    required: T.Optional(
      T.Boolean({ description: "True: mail without it is rejected; false when left out" }),
    ),
    default: T.Optional(
      T.Unknown({ description: "Value that is used when `data` lacks the field; none when left out" }),
    ),
  },
  { additionalProperties: false },
)

export const Template = T.Object({
  id: Id,
  project_id: Nullable(Id, {
    description: "Project it belongs to; null for templates of the organization, which all projects can use",
  }),
  name: T.String(),
  version: T.Integer({ description: "Increases with every change" }),
  subject: T.String(),
  html: T.String({ description: "HTML body: as given, or compiled from `mjml`" }),
  text: Nullable(T.String({ description: "Plain text body; null: derived from the HTML when it is sent" })),
  mjml: Nullable(T.String(), { description: "MJML source; null for templates that were written in HTML" }),
  from: Nullable(T.String(), {
    description: "Sender of mails that name none; null for the sender of the settings",
  }),
  reply_to: Nullable(T.String(), { description: "Reply address of mails that name none; null for none" }),
  bulk: T.Boolean({ description: "True if mails get the headers by which recipients unsubscribe" }),
  variables: T.Array(
    T.Object({
      name: T.String(),
      type: OneOf(["string", "number", "boolean", "array", "object"], {
        description: "Type that values must have",
      }),
      required: T.Boolean({ description: "True: mail without it is rejected" }),
      default: T.Unknown({ description: "Value that is used when mail has none; null for none" }),
    }),
    { description: "Variables that the template declares" },
  ),
  created_at: Time,
  updated_at: Time,
})
