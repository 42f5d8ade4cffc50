import type { PlatformEvents } from "../../../core/platform-events/platform-events.ts"
import type { Clock } from "../../../kernel/clock.ts"
import type { Database, Db } from "../../../kernel/db/database.ts"
import type { Jobs } from "../../../kernel/jobs/jobs.ts"
import type { DnsPort } from "../../../ports/dns/port.ts"
import { type Judgement, judge, lookWith } from "./judge.ts"
import { type Findings, progressOf, restarted } from "./progress.ts"
import { type MailHosts, wantedRecords } from "./records.ts"
import { type DomainRow, domainStore } from "./store.ts"

export interface DomainChecker {
  /** Looks the records up now, and writes what they say. Undefined when there is no such domain any more. */
  check(organizationId: string, id: string, signal: AbortSignal): Promise<DomainRow | undefined>
  /** Has the domain checked at its time, and on from there. */
  enqueue(db: Db, row: Pick<DomainRow, "id" | "organization_id" | "next_check_at">): Promise<void>
}

export interface CheckerNeeds {
  readonly database: Database
  readonly clock: Clock
  readonly jobs: Jobs
  readonly dns: DnsPort
  readonly hosts: MailHosts
  readonly platformEvents: PlatformEvents
}

const QUEUE = "email.verify"
const CHECK_MS_MAX = 25_000

interface Payload {
  readonly organizationId: string
  readonly domainId: string
}

const TAKEN: Judgement = {
  status: "failed",
  found: [],
  error: "Another organization has proven that it owns this domain.",
}

/** Without proof of ownership a claim is nothing, whatever else was found. */
const withoutClaim = (findings: Findings): Findings => ({ ...findings, OWNERSHIP: TAKEN })

export const createDomainChecker = (needs: CheckerNeeds): DomainChecker => {
  const { database, clock, jobs, dns, hosts, platformEvents } = needs

  const lookUp = async (row: DomainRow, signal: AbortSignal): Promise<Findings> => {
    const look = lookWith(dns, AbortSignal.any([signal, AbortSignal.timeout(CHECK_MS_MAX)]))
    const judged = wantedRecords(row, hosts).map(
      async wanted => [wanted.record, await judge(wanted, look)] as const,
    )
    return Object.fromEntries(await Promise.all(judged))
  }

  const tell = async (tx: Db, { organization_id, id, domain }: DomainRow, type: "verified" | "failed") => {
    await platformEvents.emit(tx, {
      organizationId: organization_id,
      projectId: null,
      type: `email.domain.${type}`,
      data: { domain_id: id, domain },
    })
  }

  const check: DomainChecker["check"] = async (organizationId, id, signal) => {
    const seen = await domainStore(database.db).find(organizationId, id)
    if (!seen) return undefined
    const findings = await lookUp(seen, signal)
    return database.transaction(async tx => {
      const store = domainStore(tx)
      await store.lockName(seen.domain)
      const row = await store.findForUpdate(organizationId, id)
      if (!row) return undefined
      const isOthers = await store.isOthers(organizationId, row.domain)
      const state = restarted(readState(row), new Date(clock.now()))
      const judged = isOthers ? withoutClaim(findings) : findings
      const progress = progressOf(state, judged, new Date(clock.now()))
      await store.update(organizationId, id, progress)
      const { status } = progress
      if (status !== row.status && (status === "verified" || status === "failed")) await tell(tx, row, status)
      const checked = { ...row, ...progress }
      await enqueue(tx, checked)
      return checked
    })
  }

  const enqueue: DomainChecker["enqueue"] = async (db, { id, organization_id, next_check_at }) => {
    if (!next_check_at) return
    await jobs.enqueue(db, {
      queue: QUEUE,
      tenantId: organization_id,
      payload: { organizationId: organization_id, domainId: id } satisfies Payload,
      runAt: next_check_at,
      dedupeKey: id,
    })
  }

  jobs.define<Payload>({
    name: QUEUE,
    concurrency: 4,
    perTenantConcurrency: 2,
    async run({ payload: { organizationId, domainId } }, { signal }) {
      const row = await domainStore(database.db).find(organizationId, domainId)
      if (!row?.next_check_at) return undefined
      // Somebody asked in the meantime, and was checked.
      if (row.next_check_at.getTime() > clock.now()) return { kind: "again", at: row.next_check_at }
      const checked = await check(organizationId, domainId, signal)
      return checked?.next_check_at ? { kind: "again", at: checked.next_check_at } : undefined
    },
  })

  return { check, enqueue }
}

/** The columns of the state, as its rules know them. */
const readState = (row: DomainRow) => ({
  ...row,
  status: row.status as Parameters<typeof progressOf>[0]["status"],
  findings: row.findings as Findings,
})
