/** Sending domains, settings, events and figures of email, as replies show them. */
import { T, type TSchema } from "./dsl.ts"
import { Email, Id, Nullable, OneOf, Time } from "./types.ts"

export const emailEventKinds = [
  "sent",
  "delivered",
  "delivery_delayed",
  "bounced",
  "complained",
  "opened",
  "clicked",
  "suppressed",
  "unsubscribed",
  "failed",
] as const

export type EmailEventKind = (typeof emailEventKinds)[number]

export const suppressionReasons = ["hard_bounce", "complaint", "unsubscribe", "manual"] as const

export type SuppressionReason = (typeof suppressionReasons)[number]

export const dnsRecordNames = ["OWNERSHIP", "DKIM", "RETURN_PATH", "SPF", "DMARC", "TRACKING"] as const

export type DnsRecordName = (typeof dnsRecordNames)[number]

const DomainRecord = T.Object({
  record: OneOf(dnsRecordNames),
  type: OneOf(["TXT", "MX", "CNAME"]),
  name: T.String({ description: "The whole name, without a final dot" }),
  value: T.String({ description: "A TXT of more than 255 characters is entered as several strings" }),
  ttl: T.Integer(),
  priority: Nullable(T.Integer({ description: "Of MX" })),
  required: T.Boolean(),
  status: OneOf(["not_started", "pending", "verified", "failed", "temporary_failure"]),
  found: T.Array(T.String(), { description: "What name servers answered at the last check" }),
  error: Nullable(T.String({ description: "What is wrong, in a sentence" })),
})

export const EmailDomain = T.Object({
  id: Id,
  domain: T.String(),
  status: OneOf(["not_started", "pending", "verified", "partially_verified", "failed"]),
  delivery_enabled: T.Boolean({
    description: "Whether mail from this domain is sent: it is verified, and the settings enable it",
  }),
  dkim_selector: T.String(),
  return_path: T.String({ description: "The subdomain that bounces go to" }),
  tracking_subdomain: T.String(),
  created_at: Time,
  last_checked_at: Nullable(Time),
  next_check_at: Nullable(Time),
  verified_at: Nullable(Time),
  records: T.Array(DomainRecord, { description: "What to publish, and what was found of it" }),
})

/** One label of a host name. */
export const Label = T.String({ maxLength: 63, pattern: "^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$" })

const HostName = T.String({ minLength: 1, maxLength: 253 })
const Optional = <S extends TSchema>(schema: S) => T.Optional(schema)
/** No line breaks: they would end a header. */
const DisplayName = T.String({ maxLength: 128, pattern: "^[^\\u0000-\\u001f\\u007f]*$" })

const relayFields = {
  host: HostName,
  port: Optional(T.Integer({ minimum: 1, maximum: 65_535, default: 587 })),
  security: Optional(OneOf(["starttls", "tls", "none"])),
  username: Optional(Nullable(T.String({ maxLength: 256 }))),
}

const deliveryModes = ["provider", "relay", "direct"] as const

const flags = {
  own_domain_delivery_enabled: Optional(T.Boolean({ default: false })),
  default_domain_id: Optional(Nullable(Id)),
  tracking: Optional(
    T.Object({
      opens: Optional(T.Boolean({ default: false })),
      clicks: Optional(T.Boolean({ default: false })),
    }),
  ),
  suppress_on: Optional(
    T.Object({
      hard_bounce: Optional(T.Boolean({ default: true })),
      complaint: Optional(T.Boolean({ default: true })),
    }),
  ),
}

/** `PUT` replaces: what is left out gets its default, but for the relay's password. */
export const NewEmailSettings = T.Object({
  sender: Optional(
    T.Object({
      from_email: Optional(Nullable(Email)),
      from_name: Optional(Nullable(DisplayName)),
      reply_to: Optional(Nullable(Email)),
    }),
  ),
  delivery: Optional(
    T.Object({
      mode: Optional(OneOf(deliveryModes)),
      relay: Optional(
        Nullable(
          T.Object({
            ...relayFields,
            password: Optional(
              Nullable(
                T.String({
                  maxLength: 1024,
                  description: "Never shown again; left out, the one for the same host and user stays",
                }),
              ),
            ),
          }),
        ),
      ),
      max_per_second: Optional(
        T.Integer({ minimum: 1, maximum: 1000, default: 10, description: "Mails that your relay is sent" }),
      ),
    }),
  ),
  ...flags,
})

export const EmailSettings = T.Object({
  sender: T.Object({
    from_email: Nullable(T.String()),
    from_name: Nullable(T.String()),
    reply_to: Nullable(T.String()),
  }),
  delivery: T.Object({
    mode: OneOf(deliveryModes),
    relay: Nullable(
      T.Object({
        host: T.String(),
        port: T.Integer(),
        security: OneOf(["starttls", "tls", "none"]),
        username: Nullable(T.String()),
        password_set: T.Boolean(),
      }),
    ),
    max_per_second: T.Integer(),
  }),
  own_domain_delivery_enabled: T.Boolean(),
  delivery_paused: Nullable(
    T.Object(
      { at: Time, reason: OneOf(["bounce_rate", "complaint_rate"]) },
      {
        description:
          "Set when too many mails bounced or were reported; own-domain delivery is off until it is enabled again",
      },
    ),
  ),
  default_domain_id: Nullable(Id),
  tracking: T.Object({ opens: T.Boolean(), clicks: T.Boolean() }),
  suppress_on: T.Object({ hard_bounce: T.Boolean(), complaint: T.Boolean() }),
  updated_at: Nullable(Time),
})

export const EmailEvent = T.Object({
  id: Id,
  type: T.String({ description: "`email.` and the event" }),
  event: OneOf(emailEventKinds),
  created_at: Time,
  email_id: Id,
  message_id: T.String(),
  recipient: T.String(),
  from: T.String(),
  subject: T.String(),
  template: Nullable(T.String()),
  domain: T.String({ description: "Of the sender's address" }),
  tags: T.Record(T.String(), T.String()),
  details: T.Record(T.String(), T.Unknown()),
})

export const Suppression = T.Object({
  email: T.String({ description: "In lower case" }),
  reason: OneOf(suppressionReasons),
  origin: OneOf(["recipient", "admin", "system"]),
  source_email_id: Nullable(Id),
  created_at: Time,
})

const Period = T.Object({ from: Time, to: Time })
const Count = T.Integer({ minimum: 0 })
const Rate = T.Number({ minimum: 0, description: "0 to 1" })

export const emailCounts = {
  sent: T.Integer({ minimum: 0, description: "Mails handed over, or refused at once" }),
  delivered: Count,
  delayed: Count,
  bounced: Count,
  bounced_permanent: Count,
  complained: Count,
  opened: T.Integer({ minimum: 0, description: "By people; what machines open is left out" }),
  unique_opened: Count,
  clicked: Count,
  unique_clicked: Count,
  unsubscribed: Count,
  suppressed: Count,
  failed: Count,
}

const warnings = {
  warnings: T.Array(
    T.Object({
      code: OneOf(["bounce_rate", "complaint_rate"]),
      rate: T.Number(),
      limit: T.Number({ description: "The rate from which this is a warning" }),
      pauses_at: T.Number({ description: "The rate at which own-domain delivery is switched off" }),
    }),
  ),
}

export const EmailStats = T.Object({
  period: Period,
  ...emailCounts,
  quota: T.Object({
    limit: Nullable(T.Integer({ description: "What the plan includes; null: no limit" })),
    used: Count,
    resets_at: Time,
  }),
  ...warnings,
})

const rates = {
  delivery_rate: Rate,
  open_rate: Rate,
  click_rate: Rate,
  bounce_rate: Rate,
  complaint_rate: Rate,
  unsubscribe_rate: Rate,
}

const series = {
  series: T.Array(T.Object({ date: T.String({ format: "date" }), ...emailCounts }), {
    description: "Each day of the period, in UTC",
  }),
}

export const EmailAnalytics = T.Object({ period: Period, ...rates, ...series })

export const EmailCampaign = T.Object({
  template: T.String(),
  period: Period,
  ...emailCounts,
  ...rates,
  ...series,
  top_links: T.Array(T.Object({ link: T.String(), clicks: Count, unique_clicks: Count })),
})
