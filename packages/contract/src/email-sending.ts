/** Sending: mails, their templates, and the dev inbox that stores them where no relay is configured. */
import { MIB, type OperationSpec, T } from "./dsl.ts"
import {
  Accepted,
  Address,
  Addresses,
  Attachment,
  Body,
  EMAIL_ATTACHMENTS_MAX,
  messageFields,
  Subject,
  Tag,
  Template,
  Variable,
} from "./email-fields.ts"
import { atLeastOne, Dictionary, described, eitherOr, Id, Nullable, Page, pageQuery, Time } from "./types.ts"

const ById = T.Object({ id: Id })
const Headers = Dictionary(T.String({ maxLength: 76 }), T.String({ maxLength: 998 }), {
  maxProperties: 20,
  description: "Headers of your own: `X-…`, `References`, `In-Reply-To`, `Auto-Submitted`, `Precedence`",
})
/** Attachments in base64, and two bodies whose every character may be escaped. */
const SEND_BYTES_MAX = 20 * MIB

const envelope = {
  to: described(Addresses, "Recipients: one address or a list"),
  from: T.Optional(described(Address, "Sender; the sender of the template or the settings when left out")),
  reply_to: T.Optional(
    Nullable(Address, { description: "Reply address; that of the template or the settings when left out" }),
  ),
  cc: T.Optional(described(Addresses, "Recipients of copies")),
  bcc: T.Optional(described(Addresses, "Recipients of copies whom the others do not see")),
  tags: T.Optional(T.Array(Tag, { maxItems: 20, description: "Labels for statistics and events" })),
  headers: T.Optional(Headers),
  attachments: T.Optional(
    T.Array(Attachment, { maxItems: EMAIL_ATTACHMENTS_MAX, description: "Files, at most 10 MiB in all" }),
  ),
  scheduled_at: T.Optional(
    Nullable(Time, { description: "RFC 3339 time, at most 30 days ahead; null or left out: at once" }),
  ),
  track_opens: T.Optional(T.Boolean({ description: "The settings decide when left out" })),
  track_clicks: T.Optional(T.Boolean({ description: "The settings decide when left out" })),
}

const TemplateName = T.String({
  minLength: 1,
  maxLength: 100,
  pattern: "^[A-Za-z0-9][A-Za-z0-9._-]*$",
  description: "Letters, digits, `.`, `_` and `-`, beginning with a letter or digit",
})

const templateBody = {
  name: TemplateName,
  subject: described(Subject, "Subject line, as a Liquid template"),
  html: T.Optional(Nullable(Body, { description: "HTML body, as a Liquid template" })),
  text: T.Optional(
    Nullable(Body, {
      description: "Plain text body, as a Liquid template; derived from the HTML when left out",
    }),
  ),
  mjml: T.Optional(Nullable(Body, { description: "MJML body, as a Liquid template; compiled to HTML" })),
  from: T.Optional(
    Nullable(Address, {
      description: "Sender of mails that name none; null or left out: the sender of the settings",
    }),
  ),
  reply_to: T.Optional(
    Nullable(Address, { description: "Reply address of mails that name none; null or left out: none" }),
  ),
  bulk: T.Optional(
    T.Boolean({ description: "Add the headers by which recipients unsubscribe; false when left out" }),
  ),
  variables: T.Optional(
    T.Array(Variable, { maxItems: 100, description: "Variables that the template uses" }),
  ),
}

const Data = Dictionary(T.String({ maxLength: 64 }), T.Unknown(), {
  maxProperties: 200,
  description: "Values of the template's variables",
})

const inboxFields = {
  id: Id,
  email_id: described(Id, "The mail that this is a copy of"),
  message_id: T.String({ description: "`Message-ID` header" }),
  from: T.String({ description: "Sender" }),
  to: T.String({ description: "Recipient of this copy" }),
  subject: T.String(),
  captured_at: described(Time, "RFC 3339 time in UTC when the mail was stored here instead of being sent"),
}

const sends = {
  sendTransactional: {
    id: "sendTransactionalEmail",
    http: "POST /v1/email/send/tx",
    summary: "Send a mail from a template",
    description:
      "The mail is stored before the reply, which does not wait for the delivery. A suppressed recipient is marked and " +
      "gets nothing; the others get the mail.",
    scope: "email:send",
    effect: "write",
    body: T.Object({
      ...envelope,
      template: T.String({ minLength: 1, maxLength: 100, description: "Name or id of the template" }),
      data: T.Optional(Data),
      subject: T.Optional(described(Subject, "Subject line, in place of the template's")),
    }),
    bodyBytesMax: SEND_BYTES_MAX,
    replies: { 200: Accepted },
    faults: [
      "template_not_found",
      "template_variable_missing",
      "invalid_parameter",
      "plan_limit_reached",
      "email_domain_not_enabled",
    ],
    example: { template: "welcome", data: { name: "Ada" }, to: "ada@example.com" },
  },
  sendRaw: {
    id: "sendRawEmail",
    http: "POST /v1/email/send/raw",
    summary: "Send a mail with the given content",
    description: "Without `text`, the plain text part is derived from the HTML.",
    scope: "email:send",
    effect: "write",
    body: T.Object(
      {
        ...envelope,
        subject: Subject,
        html: T.Optional(described(Body, "HTML body")),
        text: T.Optional(described(Body, "Plain text body; derived from the HTML when left out")),
      },
      eitherOr(atLeastOne("html", "text")),
    ),
    bodyBytesMax: SEND_BYTES_MAX,
    replies: { 200: Accepted },
    faults: ["invalid_parameter", "missing_parameter", "plan_limit_reached", "email_domain_not_enabled"],
    example: { to: ["ada@example.com"], subject: "Hello", html: "<p>Hello, Ada</p>" },
  },
} as const satisfies Record<string, OperationSpec>

const templates = {
  listTemplates: {
    id: "listEmailTemplates",
    http: "GET /v1/email/templates",
    summary: "List templates",
    scope: "email:read",
    effect: "read",
    query: T.Object(pageQuery),
    replies: { 200: Page(Template) },
  },
  createTemplate: {
    id: "createEmailTemplate",
    http: "POST /v1/email/templates",
    summary: "Create a template",
    description:
      "Subject, HTML, MJML and text are Liquid. `html` or `mjml` is required. MJML is compiled and Liquid is checked by this request.",
    scope: "email:write",
    effect: "write",
    body: T.Object(templateBody, eitherOr(atLeastOne("html", "mjml"))),
    bodyBytesMax: 8 * MIB,
    replies: { 200: Template },
    faults: ["invalid_parameter", "missing_parameter", "name_taken"],
    example: { name: "welcome", subject: "Hi {{ name }}", html: "<p>Hi {{ name }}</p>" },
  },
  getTemplate: {
    id: "getEmailTemplate",
    http: "GET /v1/email/templates/{id}",
    summary: "Read a template",
    scope: "email:read",
    effect: "read",
    extension: true,
    params: ById,
    replies: { 200: Template },
    faults: ["template_not_found"],
  },
  updateTemplate: {
    id: "updateEmailTemplate",
    http: "PUT /v1/email/templates/{id}",
    summary: "Replace a template",
    description: "Mails that were accepted before are not changed.",
    scope: "email:write",
    effect: "write",
    params: ById,
    body: T.Object(templateBody, eitherOr(atLeastOne("html", "mjml"))),
    bodyBytesMax: 8 * MIB,
    replies: { 200: Template },
    faults: [
      "template_not_found",
      "invalid_parameter",
      "missing_parameter",
      "name_taken",
      "organization_reach_required",
    ],
    example: { name: "welcome", subject: "Hi {{ name }}", html: "<p>Hello {{ name }}</p>" },
  },
  deleteTemplate: {
    id: "deleteEmailTemplate",
    http: "DELETE /v1/email/templates/{id}",
    summary: "Delete a template",
    scope: "email:write",
    effect: "destroy",
    params: ById,
    replies: { 200: T.Object({ id: Id, deleted: T.Boolean({ description: "Always true" }) }) },
    faults: ["template_not_found", "organization_reach_required"],
  },
  previewTemplate: {
    id: "previewEmailTemplate",
    http: "POST /v1/email/templates/{id}/preview",
    summary: "Render a template with data",
    description: "Nothing is sent. Missing required variables are listed and do not fail the request.",
    scope: "email:read",
    effect: "read",
    extension: true,
    params: ById,
    body: T.Object({ data: T.Optional(Data) }),
    replies: {
      200: T.Object({
        subject: T.String(),
        html: T.String({ description: "HTML body" }),
        text: T.String({ description: "Plain text body" }),
        missing: T.Array(T.String(), { description: "Required variables that `data` lacks" }),
      }),
    },
    faults: ["template_not_found", "invalid_parameter"],
    example: { data: { name: "Ada" } },
  },
} as const satisfies Record<string, OperationSpec>

const messages = {
  listMessages: {
    id: "listEmailMessages",
    http: "GET /v1/email/messages",
    summary: "List mails",
    scope: "email:read",
    effect: "read",
    extension: true,
    query: T.Object({
      ...pageQuery,
      recipient: T.Optional(T.String({ maxLength: 254, description: "Only mail to this address" })),
      template: T.Optional(T.String({ maxLength: 100, description: "Only mail from this template" })),
    }),
    replies: { 200: Page(T.Object(messageFields)) },
  },
  getMessage: {
    id: "getEmailMessage",
    http: "GET /v1/email/messages/{id}",
    summary: "Show a mail and the state of its delivery",
    scope: "email:read",
    effect: "read",
    extension: true,
    params: ById,
    replies: {
      200: T.Object({
        ...messageFields,
        html: Nullable(T.String(), { description: "HTML body; null for none" }),
        text: Nullable(T.String(), { description: "Plain text body; null for none" }),
      }),
    },
    faults: ["resource_not_found"],
  },
  cancelMessage: {
    id: "cancelEmailMessage",
    http: "POST /v1/email/messages/{id}/cancel",
    summary: "Cancel a mail that has not been sent",
    description: "Works for scheduled mails, and for recipients whose delivery is still being retried.",
    scope: "email:send",
    effect: "write",
    extension: true,
    idempotency: "natural",
    params: ById,
    replies: { 200: T.Object(messageFields) },
    faults: ["resource_not_found", "invalid_state_transition"],
  },
} as const satisfies Record<string, OperationSpec>

const inbox = {
  listInbox: {
    id: "listEmailInbox",
    http: "GET /v1/email/inbox",
    summary: "List mails in the dev inbox",
    description: "Without a mail relay, mails are stored here instead of being sent.",
    scope: "email:read",
    effect: "read",
    extension: true,
    query: T.Object({
      ...pageQuery,
      to: T.Optional(T.String({ maxLength: 254, description: "Only mail to this address" })),
    }),
    replies: { 200: Page(T.Object(inboxFields)) },
  },
  getInbox: {
    id: "getEmailInbox",
    http: "GET /v1/email/inbox/{id}",
    summary: "Show a mail in the dev inbox",
    scope: "email:read",
    effect: "read",
    extension: true,
    params: ById,
    replies: {
      200: T.Object({
        ...inboxFields,
        text: Nullable(T.String(), { description: "Plain text body; null for none" }),
        html: Nullable(T.String(), { description: "HTML body; null for none" }),
        raw: T.String({ description: "The whole mail as it would be sent, one character per byte" }),
        attachments: T.Array(
          T.Object({
            filename: T.String({ description: "Name of the file" }),
            content_type: T.String({ description: "Media type" }),
            size_bytes: T.Integer({ description: "Size of the decoded file" }),
            content: T.String({ description: "Base64" }),
          }),
          { description: "Attached files" },
        ),
      }),
    },
    faults: ["resource_not_found"],
  },
  inboxPage: {
    id: "showEmailInbox",
    http: "GET /inbox",
    summary: "Page that shows the dev inbox",
    description: "The page contains no mail: it calls the API with the key or the session of its reader.",
    scope: "public",
    effect: "read",
    belongs: "installation",
    project: "none",
    extension: true,
    content: { reply: "bytes", replyTypes: ["text/html"] },
    replies: { 200: T.Unknown() },
  },
  deleteInbox: {
    id: "deleteEmailInbox",
    http: "DELETE /v1/email/inbox/{id}",
    summary: "Delete a mail from the dev inbox",
    scope: "email:send",
    effect: "destroy",
    extension: true,
    params: ById,
    replies: { 204: null },
    faults: ["resource_not_found"],
  },
} as const satisfies Record<string, OperationSpec>

export const emailSending = { ...sends, ...templates, ...messages, ...inbox }
