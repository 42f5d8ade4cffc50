import type { Clock } from "../../kernel/clock.ts"
import type { Database } from "../../kernel/db/database.ts"
import type { Jobs } from "../../kernel/jobs/jobs.ts"
import { type Branches, RateLimitError } from "../../ports/git/port.ts"
import { PortError } from "../../ports/port-error.ts"
import { type Accounts, sayingOf } from "./accounts.ts"
import { eventStore } from "./event-store.ts"
import { eventJobs } from "./processing.ts"
import { eventRow } from "./receive.ts"
import { differencesOf } from "./rules.ts"
import { type IntegrationRow, integrationStore } from "./store.ts"

const POLL_QUEUE = "integrations.poll"
const POLL_EVERY_MS = 300_000
const PRUNE_EVERY_MS = 3_600_000
const EVENTS_KEPT_MS = 30 * 86_400_000
const BATCH = 500
const PRUNE_BATCH = 5_000
const NO_ID = "00000000-0000-0000-0000-000000000000"

interface Payload {
  readonly organizationId: string
  readonly integrationId: string
}

interface PollingNeeds {
  readonly database: Database
  readonly jobs: Jobs
  readonly accounts: Accounts
  readonly clock: Clock
}

const heard = ({ status }: IntegrationRow) =>
  status === "paused" ? {} : { status: "active", last_error: null }

const ORIGIN = { source: "poll", providerEvent: "poll", deliveryId: null } as const
const UNTOLD = { message: null, author: null, paths: null, pullRequest: null }

/** What differs from the known heads becomes events; at the first time everything there is is known from then on. */
const applyBranches = (
  { database, jobs, clock }: PollingNeeds,
  { organizationId, integrationId }: Payload,
  { heads, etag }: Branches & { kind: "listed" },
  startedAt: Date,
) =>
  database.transaction(async tx => {
    const row = await integrationStore(tx).findForUpdate(organizationId, integrationId)
    if (!row || row.status === "paused") return
    const store = eventStore(tx)
    const now = new Date(clock.now())
    const known = new Map(
      (await store.heads(organizationId, integrationId)).map(({ ref, commit, known_at }) => [
        ref,
        { ref, commit, knownAt: known_at },
      ]),
    )
    const isFirst = row.polled_at === null
    const { baseline, pushes, gone } = differencesOf(known, heads, { isFirst, startedAt })
    const place = { organization_id: organizationId, integration_id: integrationId, known_at: now }
    await store.putHeads(baseline.map(head => ({ ...place, ...head })))
    await store.deleteHeads(organizationId, integrationId, gone)
    const rows = pushes.map(push => {
      const event = { type: "push" as const, repository: row.repository, ...UNTOLD, ...push }
      return eventRow(row, ORIGIN, event, { now, part: 0 })
    })
    const ids = await store.insert(rows)
    const newest = rows.at(-1)
    await integrationStore(tx).update(organizationId, integrationId, {
      ...{ polled_at: now, poll_etag: etag ?? null, poll_after: null, ...heard(row) },
      ...(newest && { last_event_at: now, last_event_id: newest.id }),
    })
    if (ids.length > 0) await jobs.enqueue(tx, eventJobs(organizationId, integrationId, ids))
  })

const createPoll = (needs: PollingNeeds) => {
  const { database, accounts, clock } = needs
  const now = () => new Date(clock.now())

  const recordFailure = async (row: IntegrationRow, error: unknown) => {
    const isLasting = error instanceof PortError && error.kind !== "unavailable"
    await integrationStore(database.db).update(row.organization_id, row.id, {
      last_error: sayingOf(error),
      ...(isLasting && row.status !== "paused" && { status: "error" }),
      ...(error instanceof RateLimitError && { poll_after: error.retryAt }),
    })
  }

  return async (payload: Payload, signal: AbortSignal): Promise<void> => {
    const { organizationId, integrationId } = payload
    const store = integrationStore(database.db)
    const row = await store.findAlive(organizationId, integrationId)
    if (!row || row.status === "paused") return
    const access = await accounts.ofIntegration(database.db, row)
    if (!access) return
    const startedAt = now()
    let branches: Branches
    try {
      branches = await access.branches(row.repository, row.poll_etag ?? undefined, signal)
    } catch (error) {
      await recordFailure(row, error)
      return
    }
    if (branches.kind === "listed") await applyBranches(needs, payload, branches, startedAt)
    else
      await store.update(organizationId, integrationId, { polled_at: now(), poll_after: null, ...heard(row) })
  }
}

/** Looks at the branches of repositories, because providers do not tell of every push. */
export const definePolling = (needs: PollingNeeds): void => {
  const { database, jobs, clock } = needs
  const poll = createPoll(needs)

  jobs.define<Payload>({
    name: POLL_QUEUE,
    concurrency: 8,
    perTenantConcurrency: 4,
    // The next tick looks again.
    retries: [],
    run: ({ payload }, { signal }) => poll(payload, signal),
  })

  jobs.schedule({
    name: "integrations.polling",
    every: POLL_EVERY_MS,
    async run() {
      for (let after = NO_ID; ; ) {
        const rows = await integrationStore(database.db).pollable(after, new Date(clock.now()), BATCH)
        const due = rows.map(({ id, organization_id }) => ({
          ...{ queue: POLL_QUEUE, tenantId: organization_id, dedupeKey: id },
          payload: { organizationId: organization_id, integrationId: id } satisfies Payload,
        }))
        if (due.length > 0) await jobs.enqueue(database.db, due)
        const last = rows.at(-1)
        if (!last || rows.length < BATCH) return
        after = last.id
      }
    },
  })

  jobs.schedule({
    name: "integrations.prune",
    every: PRUNE_EVERY_MS,
    async run() {
      const before = new Date(clock.now() - EVENTS_KEPT_MS)
      while ((await eventStore(database.db).prune(before, PRUNE_BATCH)) === PRUNE_BATCH);
      await integrationStore(database.db).deleteOrphans()
    },
  })
}
