/**
 * The closed list of events that webhooks can receive. A type is `thing.happened`; its data has ids and names, and no
 * secrets or contents.
 */
import { type Static, T, type TObject } from "./dsl.ts"
import { Id, Nullable, OneOf, Time } from "./types.ts"

export interface PlatformEventSpec {
  readonly description: string
  readonly data: TObject
}

const database = T.Object({ database_id: Id, name: T.String(), pg_version: T.Integer() })
const databaseStorage = T.Object({
  database_id: Id,
  name: T.String(),
  used_bytes: T.Integer(),
  limit_bytes: Nullable(T.Integer()),
})
const functionData = T.Object({ function_id: Id, name: T.String() })
const build = T.Object({ build_id: Id, image: Nullable(T.String()) })
const deployment = T.Object({ deployment_id: Id, name: T.String() })
const service = T.Object({ service_id: Id, name: T.String() })
const object = T.Object({ bucket: T.String(), key: T.String(), size: T.Integer(), etag: T.String() })
const computer = T.Object({ computer_id: Id, name: T.String() })
const sandbox = T.Object({ sandbox_id: Id })
const email = T.Object({
  email_id: Id,
  recipient: T.String(),
  subject: T.String(),
  template: Nullable(T.String()),
  details: T.Record(T.String(), T.Unknown()),
})
const domain = T.Object({ domain_id: Id, domain: T.String() })
const cron = T.Object({
  schedule_id: Id,
  execution_id: Id,
  name: T.String(),
  scheduled_for: Time,
  error: Nullable(T.String()),
})
const key = T.Object({ key_id: Id, name: T.String(), prefix: T.String(), expires_at: Nullable(Time) })
const ticket = T.Object({ ticket_id: Id, number: T.Integer(), subject: T.String(), status: T.String() })

export const platformEvents = {
  "database.created": { description: "A database was created and accepts SQL", data: database },
  "database.deleted": {
    description: "A database was deleted; it can be restored until `purge_at`",
    data: database,
  },
  "database.restored": { description: "A deleted database was restored", data: database },
  "database.storage_warning": {
    description: "A database uses 80 % of its disk limit",
    data: databaseStorage,
  },
  "database.read_only": {
    description: "A database exceeds its disk limit and is read-only",
    data: databaseStorage,
  },
  "database.writable": {
    description: "A read-only database is writable again",
    data: databaseStorage,
  },
  "function.deployed": { description: "A new version of a function was deployed", data: functionData },
  "function.deleted": { description: "A function was deleted", data: functionData },
  "function.invocation.failed": {
    description: "A function failed",
    data: T.Object({ function_id: Id, name: T.String(), invocation_id: Id, error: T.String() }),
  },
  "build.queued": { description: "A build was queued", data: build },
  "build.started": { description: "A build was started", data: build },
  "build.succeeded": { description: "A build succeeded", data: build },
  "build.failed": { description: "A build failed", data: build },
  "build.cancelled": { description: "A build was cancelled", data: build },
  "deployment.created": { description: "A deployment was created", data: deployment },
  "deployment.ready": { description: "A deployment accepts requests", data: deployment },
  "deployment.failed": { description: "A deployment could not start", data: deployment },
  "deployment.rolled_back": {
    description: "A deployment was rolled back to an earlier version",
    data: deployment,
  },
  "service.deployed": { description: "A new revision of a run service was deployed", data: service },
  "service.failed": { description: "A revision of a run service could not start", data: service },
  "storage.object.created": { description: "An object was stored or replaced", data: object },
  "storage.object.deleted": {
    description: "An object was deleted",
    data: T.Object({ bucket: T.String(), key: T.String() }),
  },
  "computer.created": { description: "A computer was created", data: computer },
  "computer.started": { description: "A computer was started", data: computer },
  "computer.stopped": { description: "A computer was stopped", data: computer },
  "computer.deleted": { description: "A computer was deleted with its disk", data: computer },
  "sandbox.started": { description: "A sandbox was started", data: sandbox },
  "sandbox.stopped": { description: "A sandbox has ended", data: sandbox },
  "email.sent": { description: "A mail was handed to the recipient's server or a relay", data: email },
  "email.delivered": { description: "A mail was accepted for the recipient", data: email },
  "email.delivery_delayed": { description: "The delivery of a mail was delayed and is retried", data: email },
  "email.bounced": { description: "A mail could not be delivered", data: email },
  "email.complained": { description: "A recipient reported a mail as spam", data: email },
  "email.opened": { description: "A mail was opened", data: email },
  "email.clicked": { description: "A link of a mail was followed", data: email },
  "email.suppressed": { description: "A mail was not sent to an address that is suppressed", data: email },
  "email.unsubscribed": { description: "A recipient unsubscribed", data: email },
  "email.failed": { description: "A mail could not be sent at all", data: email },
  "email.domain.verified": { description: "A sending domain is verified", data: domain },
  "email.domain.failed": { description: "A sending domain could not be verified in time", data: domain },
  "cron.execution.succeeded": { description: "A scheduled run has succeeded", data: cron },
  "cron.execution.failed": { description: "A scheduled run has failed for good", data: cron },
  "key.created": { description: "A key was created", data: key },
  "key.rotated": { description: "A key was rotated", data: key },
  "key.revoked": { description: "A key was revoked", data: key },
  "key.expiring": { description: "A key expires within seven days", data: key },
  "billing.invoice.paid": {
    description: "An invoice was paid",
    data: T.Object({ invoice_id: Id, amount_micros: T.Integer(), currency: T.String() }),
  },
  "billing.quota.reached": {
    description: "A quota of the plan is used up",
    data: T.Object({ metric: T.String(), used: T.Number(), limit: T.Number() }),
  },
  "support.ticket.created": { description: "A ticket was opened", data: ticket },
  "support.ticket.updated": {
    description: "The status, priority or assignee of a ticket was changed",
    data: ticket,
  },
  "support.ticket.closed": { description: "A ticket was closed", data: ticket },
  "support.ticket.comment.created": {
    description: "A comment that the customer can see was added to a ticket",
    data: T.Object({ ticket_id: Id, number: T.Integer(), comment_id: Id, author_type: T.String() }),
  },
  "integration.push": {
    description: "A push to a connected repository was received",
    data: T.Object({
      integration_id: Id,
      provider: OneOf(["github", "gitlab", "bitbucket", "gitea"]),
      repository: T.String(),
      ref: T.String(),
      commit: T.String(),
      build_id: Nullable(Id),
    }),
  },
  "webhook.test": {
    description: "A test event was requested",
    data: T.Object({ webhook_id: Id, message: T.String() }),
  },
  "webhook.failing": {
    description: "A delivery to a webhook has failed four times",
    data: T.Object({ webhook_id: Id, url: T.String(), delivery_id: Id, event_type: T.String() }),
  },
  "webhook.recovered": {
    description: "A failing webhook accepts deliveries again",
    data: T.Object({ webhook_id: Id, url: T.String() }),
  },
  "webhook.disabled": {
    description: "A webhook failed for too long and was disabled",
    data: T.Object({ webhook_id: Id, url: T.String(), reason: T.String() }),
  },
} as const satisfies Record<string, PlatformEventSpec>

export type PlatformEventType = keyof typeof platformEvents

export type PlatformEventData<Type extends PlatformEventType> = Static<(typeof platformEvents)[Type]["data"]>

export const platformEventTypes = Object.keys(platformEvents) as readonly PlatformEventType[]
