import type { Clock } from "../../kernel/clock.ts"
import type { Database } from "../../kernel/db/database.ts"
import type { Jobs } from "../../kernel/jobs/jobs.ts"
import { type Branches, RateLimitError } from "../../ports/git/port.ts"
import { PortError } from "../../ports/port-error.ts"
import { type Accounts, sayingOf } from "./accounts.ts"
import { eventStore, type HeadRow } from "./event-store.ts"
import { eventJobs } from "./processing.ts"
import { eventRow } from "./receive.ts"
import { type IntegrationRow, integrationStore } from "./store.ts"

const POLL_QUEUE = "integrations.poll"
const POLL_EVERY_MS = 300_000
const PRUNE_EVERY_MS = 3_600_000
const EVENTS_KEPT_MS = 30 * 86_400_000
const BATCH = 500
const PRUNE_BATCH = 5_000
const HEADS = "refs/heads/"
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

/** Looks at the branches of repositories, because providers do not tell of every push. */
export const definePolling = ({ database, jobs, accounts, clock }: PollingNeeds): void => {
  const now = () => new Date(clock.now())

  const heard = ({ status }: IntegrationRow) =>
    status === "paused" ? {} : { status: "active", last_error: null }

  /** What differs from the known heads becomes events; at the first time everything there is is known from then on. */
  const apply = (
    { organizationId, integrationId }: Payload,
    { heads, etag }: Branches & { kind: "listed" },
    startedAt: Date,
  ) =>
    database.transaction(async tx => {
      const row = await integrationStore(tx).lock(organizationId, integrationId)
      if (!row) return
      const store = eventStore(tx)
      const known = new Map((await store.heads(organizationId, integrationId)).map(head => [head.ref, head]))
      const at = now()
      const baseline: HeadRow[] = []
      const pushes = []
      for (const [branch, commit] of heads) {
        const ref = `${HEADS}${branch}`
        const head = known.get(ref)
        if (head === undefined && row.polled_at === null) {
          const place = { organization_id: organizationId, integration_id: integrationId }
          baseline.push({ ...place, ref, commit, known_at: at })
        } else if (head?.commit !== commit && !(head && head.known_at >= startedAt)) {
          pushes.push({ ref, commit, commitBefore: head?.commit ?? null })
        }
      }
      const gone = [...known.values()].filter(
        ({ ref, known_at }) =>
          ref.startsWith(HEADS) && !heads.has(ref.slice(HEADS.length)) && known_at < startedAt,
      )
      await store.putHeads(baseline)
      const refs = gone.map(({ ref }) => ref)
      await store.deleteHeads(organizationId, integrationId, refs)
      const origin = { source: "poll" as const, providerEvent: "poll", deliveryId: null }
      const nothing = { message: null, author: null, paths: null, pullRequest: null }
      const rows = pushes.map(push =>
        eventRow(
          row,
          origin,
          { type: "push", repository: row.repository, ...nothing, ...push },
          { now: at, part: 0 },
        ),
      )
      const ids = await store.insert(rows)
      const newest = rows.at(-1)
      await integrationStore(tx).update(organizationId, integrationId, {
        ...{ polled_at: at, poll_etag: etag ?? null, poll_after: null, ...heard(row) },
        ...(newest && { last_event_at: at, last_event_id: newest.id }),
      })
      if (ids.length > 0) await jobs.enqueue(tx, eventJobs(organizationId, integrationId, ids))
    })

  const recordFailure = async (row: IntegrationRow, error: unknown) => {
    const isLasting = error instanceof PortError && error.kind !== "unavailable"
    await integrationStore(database.db).update(row.organization_id, row.id, {
      last_error: sayingOf(error),
      ...(isLasting && row.status !== "paused" && { status: "error" }),
      ...(error instanceof RateLimitError && { poll_after: error.retryAt }),
    })
  }

  const poll = async (payload: Payload, signal: AbortSignal): Promise<void> => {
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
    if (branches.kind === "listed") await apply(payload, branches, startedAt)
    else
      await store.update(organizationId, integrationId, { polled_at: now(), poll_after: null, ...heard(row) })
  }

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
        const rows = await integrationStore(database.db).pollable(after, now(), BATCH)
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
