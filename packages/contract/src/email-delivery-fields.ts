/** Sending domains, settings, events and statistics of email, as replies show them. */
import { T, type TSchema } from "./dsl.ts"
import { described, Email, Id, Nullable, OneOf, Time } from "./types.ts"

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
  record: OneOf(dnsRecordNames, { description: "What the record is for" }),
  type: OneOf(["TXT", "MX", "CNAME"], { description: "Type of the DNS record" }),
  name: T.String({ description: "Full name of the record, without a final dot" }),
  value: T.String({
    description: "Value of the record; a TXT value of more than 255 characters is entered as several strings",
  }),
  ttl: T.Integer({ description: "Recommended lifetime in seconds" }),
  priority: Nullable(T.Integer({ description: "Priority of an MX record; null for others" })),
  required: T.Boolean({ description: "True if the domain is not verified without it" }),
  status: OneOf(["not_started", "pending", "verified", "failed", "temporary_failure"], {
    description: "Result of the last check",
  }),
  found: T.Array(T.String(), { description: "Values that name servers returned at the last check" }),
  error: Nullable(T.String({ description: "What is wrong with the record; null if nothing is" })),
})

export const EmailDomain = T.Object({
  id: Id,
  domain: T.String({ description: "Domain name" }),
  status: OneOf(["not_started", "pending", "verified", "partially_verified", "failed"], {
    description: "Summary of the records' states",
  }),
  delivery_enabled: T.Boolean({
    description: "True if mail is sent from this domain: it is verified and the settings enable it",
  }),
  dkim_selector: T.String({ description: "Selector of the DKIM record" }),
  return_path: T.String({ description: "The subdomain that bounces go to" }),
  tracking_subdomain: T.String({ description: "Subdomain of tracked links" }),
  created_at: Time,
  last_checked_at: Nullable(Time, {
    description: "RFC 3339 time in UTC of the last check; null before the first",
  }),
  next_check_at: Nullable(Time, {
    description: "RFC 3339 time in UTC of the next check; null when none is planned",
  }),
  verified_at: Nullable(Time, {
    description: "RFC 3339 time in UTC when it was verified first; null if it never was",
  }),
  records: T.Array(DomainRecord, {
    description: "DNS records to publish, with the result of the last check",
  }),
})

/** One label of a host name. */
export const Label = T.String({ maxLength: 63, pattern: "^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$" })

const HostName = T.String({ minLength: 1, maxLength: 253, description: "Host name of the SMTP server" })
const Optional = <S extends TSchema>(schema: S) => T.Optional(schema)
/** No line breaks: they would end a header. */
const DisplayName = T.String({ maxLength: 128, pattern: "^[^\\u0000-\\u001f\\u007f]*$" })

const relayFields = {
  host: HostName,
  port: Optional(T.Integer({ minimum: 1, maximum: 65_535, default: 587, description: "TCP port" })),
  security: Optional(
    OneOf(["starttls", "tls", "none"], {
      description: "Encryption of the connection; `starttls` when left out",
    }),
  ),
  username: Optional(Nullable(T.String({ maxLength: 256 }), { description: "User name; null for no login" })),
}

const deliveryModes = ["provider", "relay", "direct"] as const

const flags = {
  own_domain_delivery_enabled: Optional(
    T.Boolean({ default: false, description: "Send from the organization's verified domains" }),
  ),
  default_domain_id: Optional(
    Nullable(Id, { description: "Domain of mail that names no sender; null for the installation's address" }),
  ),
  tracking: Optional(
    T.Object(
      {
        opens: Optional(T.Boolean({ default: false, description: "Track opens by an image" })),
        clicks: Optional(T.Boolean({ default: false, description: "Track clicks by rewriting links" })),
      },
      { description: "What is tracked, unless a mail says otherwise" },
    ),
  ),
  suppress_on: Optional(
    T.Object(
      {
        hard_bounce: Optional(
          T.Boolean({ default: true, description: "A permanent bounce suppresses the address" }),
        ),
        complaint: Optional(
          T.Boolean({ default: true, description: "A spam complaint suppresses the address" }),
        ),
      },
      { description: "What suppresses an address" },
    ),
  ),
}

/** `PUT` replaces: fields that are left out get their defaults, except the relay's password. */
export const NewEmailSettings = T.Object({
  sender: Optional(
    T.Object(
      {
        from_email: Optional(Nullable(Email, { description: "Address; null for the installation's" })),
        from_name: Optional(
          Nullable(DisplayName, { description: "Name that mail programs show; null for none" }),
        ),
        reply_to: Optional(Nullable(Email, { description: "Reply address; null for none" })),
      },
      { description: "Sender of mail that names none" },
    ),
  ),
  delivery: Optional(
    T.Object(
      {
        mode: Optional(OneOf(deliveryModes, { description: "`provider` when left out" })),
        relay: Optional(
          Nullable(
            T.Object({
              ...relayFields,
              password: Optional(
                Nullable(
                  T.String({
                    maxLength: 1024,
                    description:
                      "Password; not returned by any operation. Left out, the stored one for the same host and user stays",
                  }),
                ),
              ),
            }),
            { description: "SMTP server of mode `relay`; null for none" },
          ),
        ),
        max_per_second: Optional(
          T.Integer({
            minimum: 1,
            maximum: 1000,
            default: 10,
            description: "Mails per second that the relay is sent at most",
          }),
        ),
      },
      { description: "How mail leaves the installation" },
    ),
  ),
  ...flags,
})

export const EmailSettings = T.Object({
  sender: T.Object(
    {
      from_email: Nullable(T.String(), { description: "Address; null for the installation's" }),
      from_name: Nullable(T.String(), { description: "Name that mail programs show; null for none" }),
      reply_to: Nullable(T.String(), { description: "Reply address; null for none" }),
    },
    { description: "Sender of mail that names none" },
  ),
  delivery: T.Object(
    {
      mode: OneOf(deliveryModes, {
        description:
          "`provider`: as the installation is configured; `relay`: the SMTP server below; `direct`: the recipients' servers",
      }),
      relay: Nullable(
        T.Object({
          host: T.String({ description: "Host name of the SMTP server" }),
          port: T.Integer({ description: "TCP port" }),
          security: OneOf(["starttls", "tls", "none"], { description: "Encryption of the connection" }),
          username: Nullable(T.String(), { description: "User name; null for no login" }),
          password_set: T.Boolean({ description: "True if a password is stored" }),
        }),
        { description: "SMTP server of mode `relay`; null for none" },
      ),
      max_per_second: T.Integer({ description: "Mails per second that the relay is sent at most" }),
    },
    { description: "How mail leaves the installation" },
  ),
  own_domain_delivery_enabled: T.Boolean({
    description: "Whether mail is sent from the organization's verified domains",
  }),
  delivery_paused: Nullable(
    T.Object(
      {
        at: described(Time, "RFC 3339 time in UTC when delivery was paused"),
        reason: OneOf(["bounce_rate", "complaint_rate"], { description: "Which rate was too high" }),
      },
      {
        description:
          "Set when too many mails bounced or were reported as spam; delivery from own domains is off until it is enabled again. Null otherwise",
      },
    ),
  ),
  default_domain_id: Nullable(Id, {
    description: "Domain of mail that names no sender; null for the installation's address",
  }),
  tracking: T.Object(
    {
      opens: T.Boolean({ description: "Whether opens are tracked by an image" }),
      clicks: T.Boolean({ description: "Whether clicks are tracked by rewriting links" }),
    },
    { description: "What is tracked, unless a mail says otherwise" },
  ),
  suppress_on: T.Object(
    {
      hard_bounce: T.Boolean({ description: "Whether a permanent bounce suppresses the address" }),
      complaint: T.Boolean({ description: "Whether a spam complaint suppresses the address" }),
    },
    { description: "What suppresses an address" },
  ),
  updated_at: Nullable(Time, { description: "RFC 3339 time in UTC; null if they were never changed" }),
})

export const EmailEvent = T.Object({
  id: Id,
  type: T.String({ description: "`email.` followed by the event" }),
  event: OneOf(emailEventKinds, { description: "What happened" }),
  created_at: Time,
  email_id: Id,
  message_id: T.String({ description: "`Message-ID` header of the mail" }),
  recipient: T.String({ description: "Address of the recipient" }),
  from: T.String({ description: "Sender of the mail" }),
  subject: T.String(),
  template: Nullable(T.String(), { description: "Name of the template; null for mail without one" }),
  domain: T.String({ description: "Domain of the sender" }),
  tags: T.Record(T.String(), T.String(), { description: "Tags of the mail, by name" }),
  details: T.Record(T.String(), T.Unknown(), {
    description: "Further details, such as the link or the server's response; the fields depend on the event",
  }),
})

export const Suppression = T.Object({
  email: T.String({ description: "In lower case" }),
  reason: OneOf(suppressionReasons, { description: "Why it gets no mail" }),
  origin: OneOf(["recipient", "admin", "system"], { description: "Who suppressed it" }),
  source_email_id: Nullable(Id, { description: "Mail that led to it; null for none" }),
  created_at: Time,
})

const Period = T.Object({
  from: described(Time, "RFC 3339 time in UTC of its beginning"),
  to: described(Time, "RFC 3339 time in UTC of its end"),
})
const Count = T.Integer({ minimum: 0 })
const Rate = T.Number({ minimum: 0, description: "0 to 1" })

export const emailCounts = {
  sent: T.Integer({
    minimum: 0,
    description: "Mails that were handed to a mail server, or rejected at once",
  }),
  delivered: described(Count, "Mails that the recipient's server accepted"),
  delayed: described(Count, "Mails whose delivery was put off by the recipient's server"),
  bounced: described(Count, "Mails that the recipient's server rejected"),
  bounced_permanent: described(Count, "Mails of these that were rejected for good"),
  complained: described(Count, "Mails that recipients reported as spam"),
  opened: T.Integer({ minimum: 0, description: "Opens by people; those of programs are not counted" }),
  unique_opened: described(Count, "Mails that were opened at least once"),
  clicked: described(Count, "Clicks on links"),
  unique_clicked: described(Count, "Mails of which a link was clicked at least once"),
  unsubscribed: described(Count, "Recipients who unsubscribed"),
  suppressed: described(Count, "Recipients that got nothing because their address is suppressed"),
  failed: described(Count, "Mails that could not be sent"),
}

const warnings = {
  warnings: T.Array(
    T.Object({
      code: OneOf(["bounce_rate", "complaint_rate"], { description: "Which rate" }),
      rate: T.Number({ description: "The rate now, from 0 to 1" }),
      limit: T.Number({ description: "Rate from which this is a warning" }),
      pauses_at: T.Number({ description: "Rate at which delivery from own domains is disabled" }),
    }),
    { description: "Rates that are too high; none when all is well" },
  ),
}

export const EmailStats = T.Object({
  period: described(Period, "Period that is counted"),
  ...emailCounts,
  quota: T.Object(
    {
      limit: Nullable(T.Integer({ description: "Mails that the plan includes; null for no limit" })),
      used: described(Count, "Mails counted in this billing period"),
      resets_at: described(Time, "RFC 3339 time in UTC when the count starts again"),
    },
    { description: "Mails of the plan" },
  ),
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
  series: T.Array(
    T.Object({ date: T.String({ format: "date", description: "Day, in UTC" }), ...emailCounts }),
    {
      description: "Each day of the period, in UTC",
    },
  ),
}

export const EmailAnalytics = T.Object({
  period: described(Period, "Period that is counted"),
  ...rates,
  ...series,
})

export const EmailCampaign = T.Object({
  template: T.String({ description: "Name of the template" }),
  period: described(Period, "Period that is counted"),
  ...emailCounts,
  ...rates,
  ...series,
  top_links: T.Array(
    T.Object({
      link: T.String({ description: "Address of the link" }),
      clicks: described(Count, "Clicks in all"),
      unique_clicks: described(Count, "Mails of which it was clicked at least once"),
    }),
    { description: "Links with the most clicks" },
  ),
})
