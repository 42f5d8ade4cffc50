/** The delivery side of email: domains, settings, events, statistics, suppression, and the links in mails. */
import { type OperationSpec, T } from "./dsl.ts"
import {
  EmailAnalytics,
  EmailCampaign,
  EmailDomain,
  EmailEvent,
  EmailSettings,
  EmailStats,
  emailEventKinds,
  Label,
  NewEmailSettings,
  Suppression,
  suppressionReasons,
} from "./email-delivery-fields.ts"
import { described, Email, Id, OneOf, Page, PageQuery, pageQuery } from "./types.ts"

/** Largest number per organization. */
export const EMAIL_DOMAINS_MAX = 200
/** Longest period of statistics, in days. */
export const EMAIL_PERIOD_DAYS_MAX = 366
export const EMAIL_PERIOD_DAYS_DEFAULT = 30

const DomainId = T.Object({ id: Id })
const Token = T.Object({
  token: T.String({ minLength: 1, maxLength: 4096, description: "Token from the link" }),
})

const period = {
  since: T.Optional(
    T.String({
      format: "date-time",
      description: `${EMAIL_PERIOD_DAYS_DEFAULT} days before \`until\` when left out`,
    }),
  ),
  until: T.Optional(T.String({ format: "date-time", description: "Now when left out" })),
}

const linkOperations = {
  trackOpen: {
    id: "trackEmailOpen",
    http: "GET /v1/email/open/{token}",
    summary: "Image that records the open of a mail",
    scope: "public",
    effect: "read",
    project: "none",
    extension: true,
    crossOrigin: true,
    content: { reply: "bytes", replyTypes: ["image/gif"] },
    params: Token,
    replies: { 200: T.Unknown() },
  },
  trackClick: {
    id: "trackEmailClick",
    http: "GET /v1/email/click/{token}",
    summary: "Follow a link of a mail",
    description: "Redirects to the address in the original mail, and to no other.",
    scope: "public",
    effect: "read",
    project: "none",
    extension: true,
    crossOrigin: true,
    params: Token,
    replies: { 302: null },
    faults: ["resource_not_found"],
  },
  unsubscribePage: {
    id: "showEmailUnsubscribe",
    http: "GET /v1/email/unsubscribe/{token}",
    summary: "Page that the unsubscribe link of a mail opens",
    description: "It changes nothing, because mail scanners open links too; the page has a button.",
    scope: "public",
    effect: "read",
    project: "none",
    extension: true,
    content: { reply: "bytes", replyTypes: ["text/html"] },
    params: Token,
    replies: { 200: T.Unknown() },
    faults: ["resource_not_found"],
  },
  unsubscribe: {
    id: "unsubscribeEmail",
    http: "POST /v1/email/unsubscribe/{token}",
    summary: "Unsubscribe a recipient with one request (RFC 8058)",
    scope: "public",
    effect: "write",
    project: "none",
    audit: "rollup",
    idempotency: "natural",
    extension: true,
    crossOrigin: true,
    content: { request: "bytes", reply: "bytes", replyTypes: ["text/html"] },
    params: Token,
    replies: { 200: T.Unknown() },
    faults: ["resource_not_found"],
  },
} as const satisfies Record<string, OperationSpec>

const suppressionOperations = {
  listSuppression: {
    id: "listEmailSuppression",
    http: "GET /v1/email/suppression",
    summary: "List suppressed addresses, which get no mail",
    scope: "email:read",
    effect: "read",
    belongs: "organization",
    query: T.Object({
      ...pageQuery,
      email: T.Optional(described(Email, "Only this address")),
      reason: T.Optional(
        OneOf(suppressionReasons, { description: "Only addresses that are suppressed for this reason" }),
      ),
    }),
    replies: { 200: Page(Suppression) },
  },
  suppress: {
    id: "addEmailSuppression",
    http: "POST /v1/email/suppression",
    summary: "Suppress an address: it gets no more mail",
    description: "An address that is suppressed already keeps its first reason.",
    scope: "email:send",
    effect: "write",
    belongs: "organization",
    extension: true,
    body: T.Object({ email: described(Email, "Address that gets no more mail") }),
    replies: { 200: Suppression },
    example: { email: "ada@example.com" },
  },
  unsuppress: {
    id: "removeEmailSuppression",
    http: "DELETE /v1/email/suppression",
    summary: "Remove an address from the suppression list",
    scope: "email:send",
    effect: "destroy",
    belongs: "organization",
    extension: true,
    query: T.Object({ email: described(Email, "Address that gets mail again") }),
    replies: { 200: Suppression },
    faults: ["resource_not_found"],
  },
} as const satisfies Record<string, OperationSpec>

const figureOperations = {
  listEvents: {
    id: "listEmailEvents",
    http: "GET /v1/email/events",
    summary: "List events of mails: deliveries, bounces, opens, clicks",
    scope: "email:read",
    effect: "read",
    query: T.Object({
      ...pageQuery,
      email_id: T.Optional(described(Id, "Only events of this mail")),
      recipient: T.Optional(described(Email, "Only events of this recipient")),
      event: T.Optional(OneOf(emailEventKinds, { description: "Only events of this kind" })),
      since: T.Optional(
        T.String({ format: "date-time", description: "Only events at or after this RFC 3339 time" }),
      ),
      until: T.Optional(
        T.String({ format: "date-time", description: "Only events before this RFC 3339 time" }),
      ),
    }),
    replies: { 200: Page(EmailEvent) },
  },
  stats: {
    id: "getEmailStats",
    http: "GET /v1/email/stats",
    summary: "Count events of mails, and show the rest of the quota",
    description:
      "Delivery from own domains is disabled at 10 % permanent bounces or 0.5 % spam complaints; `warnings` reports from " +
      "half of the former and a fifth of the latter on.",
    scope: "email:read",
    effect: "read",
    query: T.Object(period),
    replies: { 200: EmailStats },
    faults: ["invalid_parameter"],
  },
  analyticsSummary: {
    id: "getEmailAnalyticsSummary",
    http: "GET /v1/email/analytics/summary",
    summary: "Rates of delivery, opens, clicks, bounces and complaints",
    description:
      "Delivered and bounced are shares of the mails sent; opened and clicked (once per recipient), complained and " +
      "unsubscribed are shares of the mails delivered.",
    scope: "email:read",
    effect: "read",
    query: T.Object(period),
    replies: { 200: EmailAnalytics },
    faults: ["invalid_parameter"],
  },
  analyticsCampaign: {
    id: "getEmailCampaignAnalytics",
    http: "GET /v1/email/analytics/campaign/{template_name}",
    summary: "Statistics of one template, and its most clicked links",
    scope: "email:read",
    effect: "read",
    params: T.Object({
      template_name: T.String({ minLength: 1, maxLength: 128, description: "Name of the template" }),
    }),
    query: T.Object(period),
    replies: { 200: EmailCampaign },
    faults: ["template_not_found", "invalid_parameter"],
  },
} as const satisfies Record<string, OperationSpec>

export const emailDomainOperations = {
  listDomains: {
    id: "listEmailDomains",
    http: "GET /v1/email/domains",
    summary: "List sending domains",
    scope: "email:read",
    effect: "read",
    belongs: "organization",
    query: PageQuery,
    replies: { 200: Page(EmailDomain) },
  },
  addDomain: {
    id: "addEmailDomain",
    http: "POST /v1/email/domains",
    summary: "Register a domain to send from; the reply has the DNS records to publish",
    description:
      "The records are checked after 1, 5, 15 and 60 minutes, then every hour for three days, and whenever " +
      "`verify` is called. An unverified claim of another organization to the domain does not matter.",
    scope: "email:send",
    effect: "write",
    belongs: "organization",
    body: T.Object({
      domain: T.String({ minLength: 1, maxLength: 253, description: "Domain name, as `mail.example.com`" }),
      return_path: T.Optional(
        described(Label, "First label of the subdomain that bounces go to; `bounce` when left out"),
      ),
      tracking_subdomain: T.Optional(
        described(Label, "First label of the subdomain of tracked links; `click` when left out"),
      ),
    }),
    aliases: { name: "domain" },
    replies: { 200: EmailDomain },
    faults: ["domain_taken", "invalid_parameter", "plan_limit_reached"],
    example: { domain: "mail.example.com" },
  },
  getDomain: {
    id: "getEmailDomain",
    http: "GET /v1/email/domains/{id}",
    summary: "Show a sending domain and the state of its records",
    scope: "email:read",
    effect: "read",
    belongs: "organization",
    extension: true,
    params: DomainId,
    replies: { 200: EmailDomain },
    faults: ["domain_not_found"],
  },
  deleteDomain: {
    id: "deleteEmailDomain",
    http: "DELETE /v1/email/domains/{id}",
    summary: "Remove a sending domain and its key",
    scope: "email:send",
    effect: "destroy",
    belongs: "organization",
    risk: "high",
    params: DomainId,
    replies: { 200: EmailDomain },
    faults: ["domain_not_found"],
  },
  verifyDomain: {
    id: "verifyEmailDomain",
    http: "POST /v1/email/domains/{id}/verify",
    summary: "Check the DNS records of the domain now",
    scope: "email:send",
    effect: "write",
    transaction: "none",
    belongs: "organization",
    idempotency: "natural",
    params: DomainId,
    replies: { 200: EmailDomain },
    faults: ["domain_not_found"],
  },
  getSettings: {
    id: "getEmailSettings",
    http: "GET /v1/email/settings",
    summary: "Show the organization's email settings",
    scope: "email:read",
    effect: "read",
    belongs: "organization",
    replies: { 200: EmailSettings },
  },
  updateSettings: {
    id: "updateEmailSettings",
    http: "PUT /v1/email/settings",
    summary: "Replace the organization's email settings",
    description:
      "Mode `relay` sends through the organization's own SMTP server, `direct` to the servers of recipients, " +
      "`provider` as the installation is configured. Enabling delivery from own domains also ends a pause.",
    scope: "email:send",
    effect: "write",
    belongs: "organization",
    risk: "high",
    idempotency: "natural",
    body: NewEmailSettings,
    replies: { 200: EmailSettings },
    faults: ["invalid_parameter", "domain_not_found"],
    example: { sender: { from_email: "hi@example.com", from_name: "Example" }, tracking: { opens: true } },
  },
  ...figureOperations,
  ...suppressionOperations,
  ...linkOperations,
} as const satisfies Record<string, OperationSpec>
