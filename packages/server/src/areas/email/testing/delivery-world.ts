/** A platform that asks a name server of this machine, on which a test publishes what a sending domain needs. */
import type { TestContext } from "node:test"
import type { EmailEventKind } from "@svc/contract"
import type { Svc } from "@svc/sdk"
import { newId } from "../../../kernel/id.ts"
import { type DnsAnswer, type DnsRecord, type DnsServer, startDns } from "../../../testing/dns.ts"
import { everyScope, type PlatformOptions, platform, type TestPlatform } from "../../../testing/platform.ts"

export type EmailDomain = Awaited<ReturnType<Svc["email"]["addDomain"]>>
type DomainRecord = EmailDomain["records"][number]

/** A mail to one recipient, as it stands in the database. */
export interface StoredMail {
  readonly organizationId: string
  readonly emailId: string
  readonly recipientId: string
  readonly address: string
}

interface MailFacts {
  readonly tenant?: string
  readonly address?: string
  readonly domain?: string
  readonly template?: string | null
}

export interface DeliveryWorld {
  readonly p: TestPlatform
  /** Holds a key of the tenant `acme` with every scope. */
  readonly svc: Svc
  readonly dns: DnsServer
  readonly organizationId: string
  /** Publishes the records, or those of the names given. */
  publish(domain: EmailDomain, ...names: DomainRecord["record"][]): void
  /** A domain of the tenant's that is verified, and enabled. */
  verifiedDomain(name: string): Promise<EmailDomain>
  /** A mail that was delivered, though nobody sent it. */
  mail(facts?: MailFacts): Promise<StoredMail>
  /** Writes what became of a mail. */
  record(mail: StoredMail, event: EmailEventKind, at: Date, details?: Record<string, unknown>): Promise<void>
}

const storeMail = async (p: TestPlatform, facts: MailFacts): Promise<StoredMail> => {
  const { tenant = "acme", address = "ada@example.org", domain = "mail.example.com", template = null } = facts
  const { organizationId, projectId } = await p.tenant(tenant)
  const mail = { organizationId, emailId: newId(), recipientId: newId(), address }
  const at = new Date(p.clock.now())
  const { db } = p.database
  await db
    .insertInto("email.messages")
    .values({
      ...{ id: mail.emailId, organization_id: organizationId, project_id: projectId },
      ...{ message_id: `<${mail.emailId}@${domain}>`, from_address: `hi@${domain}`, from_name: "" },
      ...{ domain, to_addresses: "[]", cc_addresses: "[]", reply_to: null, subject: "Hello", template },
      ...{ html: null, text: "Hello", headers: "{}", tags: JSON.stringify({ kind: "test" }), bulk: false },
      ...{ track_opens: true, track_clicks: true, scheduled_at: null, created_at: at },
    })
    .execute()
  await db
    .insertInto("email.recipients")
    .values({
      ...{ id: mail.recipientId, organization_id: organizationId, email_id: mail.emailId, position: 0 },
      ...{ kind: "to", address, status: "delivered", attempts: 1, last_error: null, captured_at: null },
      updated_at: at,
    })
    .execute()
  return mail
}

const storeEvent: (p: TestPlatform) => DeliveryWorld["record"] =
  p =>
  async (mail, event, at, details = {}) => {
    const { db } = p.database
    const message = await db
      .selectFrom("email.messages")
      .where("id", "=", mail.emailId)
      .select(["message_id", "from_address", "subject", "template", "domain", "tags", "project_id"])
      .executeTakeFirstOrThrow()
    await db
      .insertInto("email.events")
      .values({
        ...{ ...message, id: newId(), organization_id: mail.organizationId, email_id: mail.emailId },
        ...{ recipient_id: mail.recipientId, event, recipient: mail.address, created_at: at },
        ...{ tags: JSON.stringify(message.tags), details: JSON.stringify(details) },
      })
      .execute()
  }

const TXT_BYTES_MAX = 255

/** As a zone file has it: a long text is several strings. */
export const stringsOf = (text: string): string[] =>
  Array.from({ length: Math.ceil(text.length / TXT_BYTES_MAX) }, (_, at) =>
    text.slice(at * TXT_BYTES_MAX, (at + 1) * TXT_BYTES_MAX),
  )

const answerOf = ({ type, value, priority }: DomainRecord): DnsRecord => {
  if (type === "MX") return { type, data: value, priority: priority ?? 0 }
  return type === "TXT" ? { type, data: stringsOf(value) } : { type, data: value }
}

export const deliveryWorld = async (
  t: TestContext,
  options: PlatformOptions = {},
): Promise<DeliveryWorld> => {
  const dns = await startDns(t)
  const p = await platform(t, {
    ...options,
    env: {
      SVC_DNS_SERVERS: dns.address,
      SVC_MAIL_HOST: "mx.svc.test",
      SVC_MAIL_SPF: "include:spf.svc.test",
      SVC_TRACKING_HOST: "links.svc.test",
      ...options.env,
    },
  })
  const svc = await p.wide("acme", ...everyScope)
  const { organizationId } = await p.tenant("acme")

  const publish: DeliveryWorld["publish"] = ({ records }, ...names) => {
    const chosen = records.filter(({ record }) => names.length === 0 || names.includes(record))
    const byName = Map.groupBy(chosen, ({ name }) => name)
    for (const [name, together] of byName) dns.answer(name, together.map(answerOf) as DnsAnswer)
  }

  return {
    ...{ p, svc, dns, organizationId, publish },
    mail: (facts = {}) => storeMail(p, facts),
    record: storeEvent(p),
    async verifiedDomain(name) {
      const domain = await svc.email.addDomain({ domain: name })
      publish(domain)
      await svc.email.updateSettings({ own_domain_delivery_enabled: true })
      return svc.email.verifyDomain({ id: domain.id })
    },
  }
}
