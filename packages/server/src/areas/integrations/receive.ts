import { createHmac } from "node:crypto"
import type { Readable } from "node:stream"
import { type areas, GIT_HOOK_BYTES_MAX, gitProviders, type Input } from "@svc/contract"
import type { AccountCall } from "../../kernel/call.ts"
import type { Database } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Jobs } from "../../kernel/jobs/jobs.ts"
import type { Delivery, GitEvent, GitPort, GitProviderName, ParsedDelivery } from "../../ports/git/port.ts"
import { PortError } from "../../ports/port-error.ts"
import { eventStore, type NewEvent } from "./event-store.ts"
import { eventJobs } from "./processing.ts"
import type { HookSecrets } from "./secrets.ts"
import { type IntegrationRow, integrationStore } from "./store.ts"

interface ReceiveNeeds {
  readonly database: Database
  readonly git: GitPort
  readonly secrets: HookSecrets
  readonly jobs: Jobs
}

/** Calls back with each part of the body, and refuses one that is too large. */
const readParts = async (stream: Readable, take: (part: Buffer) => void): Promise<void> => {
  let bytes = 0
  for await (const part of stream as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > GIT_HOOK_BYTES_MAX) throw fault("payload_too_large", { bytes: GIT_HOOK_BYTES_MAX })
    take(part)
  }
}

/** For nobody's delivery: it costs the sender as much time as anybody's, and keeps nothing of it. */
const pretendToVerify = async (stream: Readable): Promise<void> => {
  const hmac = createHmac("sha256", "nobody")
  await readParts(stream, part => hmac.update(part))
  hmac.digest("hex")
}

const WORD_MAX = 255
const cut = (text: string): string => text.slice(0, WORD_MAX)

export interface Origin {
  readonly source: "webhook" | "poll" | "replay"
  readonly providerEvent: string
  readonly deliveryId: string | null
}

/** The row of an event; what the platform does not act on is done with at once. */
export const eventRow = (
  integration: Pick<IntegrationRow, "id" | "organization_id" | "project_id">,
  { source, providerEvent, deliveryId }: Origin,
  event: GitEvent,
  { now, part }: { readonly now: Date; readonly part: number },
): NewEvent => {
  const status = event.type === "ping" ? "processed" : event.type === "other" ? "ignored" : "received"
  return {
    ...{ id: newId(), organization_id: integration.organization_id, project_id: integration.project_id },
    ...{ integration_id: integration.id, source, type: event.type, provider_event: cut(providerEvent) },
    ...{ delivery_id: deliveryId, part, repository: event.repository, ref: event.ref, commit: event.commit },
    ...{ commit_before: event.commitBefore, message: event.message, author: event.author },
    pull_request: event.pullRequest && JSON.stringify(event.pullRequest),
    paths: event.paths && JSON.stringify(event.paths),
    ...{ status, reason: event.type === "other" ? "nothing is done for such events" : null },
    ...{ is_new: false, build_id: null, received_at: now },
    processed_at: status === "received" ? null : now,
  }
}

const UNREADABLE: GitEvent = {
  ...{ type: "other", repository: "", ref: null, commit: null, commitBefore: null },
  ...{ message: null, author: null, paths: null, pullRequest: null },
}

export const createReceive = ({ database, git, secrets, jobs }: ReceiveNeeds) => {
  const signatureHeaders = [...new Set(gitProviders.flatMap(name => git.hooks(name).signatureHeaders))]

  const verified = async (row: IntegrationRow, delivery: Delivery, now: Date): Promise<boolean> => {
    const hooks = git.hooks(row.provider as GitProviderName)
    const accepted = await secrets.accepted(row, now)
    return accepted.filter(secret => hooks.isGenuine(delivery, secret, now.getTime())).length > 0
  }

  const read = (row: IntegrationRow, delivery: Delivery): ParsedDelivery => {
    try {
      return git.hooks(row.provider as GitProviderName).read(delivery)
    } catch (error) {
      if (!(error instanceof PortError)) throw error
      return { providerEvent: "unreadable", events: [UNREADABLE] }
    }
  }

  const record = (row: IntegrationRow, delivery: Delivery, now: Date) => {
    const { providerEvent, events: told } = read(row, delivery)
    const given = git.hooks(row.provider as GitProviderName).idOf(delivery)
    // Without an id of its own a delivery is known by what it says.
    const deliveryId = cut(given ?? createHmac("sha256", "delivery").update(delivery.body).digest("hex"))
    const origin = { source: "webhook" as const, providerEvent, deliveryId }
    const rows = told.map((event, part) => eventRow(row, origin, event, { now, part }))
    return database.transaction(async tx => {
      const store = eventStore(tx)
      const ids = new Set(await store.insert(rows))
      const inserted = rows.filter(({ id }) => ids.has(id))
      const newest = inserted.at(-1)
      if (newest === undefined) {
        const known = await store.findDelivery(row.organization_id, row.id, deliveryId)
        return { event_id: known?.id ?? null, duplicate: known !== undefined }
      }
      await integrationStore(tx).update(row.organization_id, row.id, {
        ...{ last_event_at: now, last_event_id: newest.id },
        ...(row.status === "pending" && { status: "active" }),
      })
      const waiting = inserted.filter(({ status }) => status === "received").map(({ id }) => id)
      if (waiting.length > 0) await jobs.enqueue(tx, eventJobs(row.organization_id, row.id, waiting))
      return { event_id: newest.id, duplicate: false }
    })
  }

  return async ({ id }: Input<typeof areas.integrations.specs.receive>, call: AccountCall) => {
    const { now, stream } = call
    const header = (name: string) => call.header(name)
    // Without any signature there is nothing to look up.
    if (!signatureHeaders.some(name => header(name) !== undefined)) throw fault("signature_invalid")
    const row = await integrationStore(database.db).findForDelivery(id)
    if (!row) {
      await pretendToVerify(stream)
      throw fault("signature_invalid")
    }
    const parts: Buffer[] = []
    await readParts(stream, part => parts.push(part))
    const delivery: Delivery = { header, body: Buffer.concat(parts) }
    if (!(await verified(row, delivery, now))) throw fault("signature_invalid")
    call.describe({
      tenantId: row.organization_id,
      targets: [{ type: "integration", id: row.id, name: row.repository }],
    })
    return record(row, delivery, now)
  }
}
