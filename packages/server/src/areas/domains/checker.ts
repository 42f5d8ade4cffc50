/** Finds out whom a domain belongs to, by what its name servers say. */
import type { Clock } from "../../kernel/clock.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Database, Db } from "../../kernel/db/database.ts"
import type { Jobs } from "../../kernel/jobs/jobs.ts"
import type { DnsPort } from "../../ports/dns/port.ts"
import type { Issuing } from "./certificates/issuing.ts"
import { isProven, type Proof, prove } from "./records.ts"
import { type DomainRow, domainStore } from "./store.ts"
import { DOMAIN_TOPIC } from "./table.ts"

export const VERIFY_QUEUE = "domains.verify"

export interface Checked {
  readonly row: DomainRow
  /** Another project has the domain, and its proof is still published. */
  readonly isTaken: boolean
}

export interface Checker {
  /** Looks the records up now, and writes what they say. Undefined when there is no such domain any more. */
  check(projectId: string, id: string, signal: AbortSignal): Promise<Checked | undefined>
  /** Has the domain checked at its time, and on from there. */
  enqueue(db: Db, row: DomainRow): Promise<void>
}

interface Payload {
  readonly projectId: string
  readonly domainId: string
}

const MINUTE_MS = 60_000
const CHECK_MS_MAX = 25_000
/** After this long without a record nobody publishes one any more. */
const CHECKED_MS_MAX = 72 * 60 * MINUTE_MS
const CHECK_EVERY_MS_MAX = 60 * MINUTE_MS

const TAKEN = "Another project has proven this domain, and its record is still published."
const LOST = "Another project has proven this domain, and the record of this one was gone."
const UNANSWERED = "The name servers of the domain do not answer."
const MISSING = "None of the records was found."

/** The longer nothing was there, the later it is looked for again: a tenth of that time, and a minute at least. */
export const nextCheckMs = (sinceMs: number, nowMs: number): number =>
  nowMs + Math.min(CHECK_EVERY_MS_MAX, Math.max(MINUTE_MS, (nowMs - sinceMs) / 10))

const progressOf = (row: DomainRow, proof: Proof, isTaken: boolean, now: Date): Partial<DomainRow> => {
  const { txt_found, cname_found, isUncertain } = proof
  const seen = { txt_found, cname_found, last_checked_at: now, updated_at: now }
  // Whoever has a domain keeps it until somebody else proves it: records may be tidied away.
  if (row.status === "active") return { ...seen, last_error: null }
  if (isProven(proof) && !isTaken)
    return { ...seen, status: "active", verified_at: now, last_error: null, next_check_at: null }
  // Whoever asks again after a failure has three more days.
  const since = row.status === "failed" ? now : row.checking_since
  const isOver = isTaken || now.getTime() - since.getTime() >= CHECKED_MS_MAX
  const reason = isUncertain ? UNANSWERED : MISSING
  return {
    ...seen,
    status: isOver ? "failed" : "verifying",
    checking_since: since,
    last_error: isTaken ? TAKEN : reason,
    next_check_at: isOver ? null : new Date(nextCheckMs(since.getTime(), now.getTime())),
  }
}

export const createChecker = (needs: {
  readonly database: Database
  readonly changes: Changes
  readonly clock: Clock
  readonly jobs: Jobs
  readonly dns: DnsPort
  readonly issuing: Issuing
  readonly cnameHost: string | undefined
}): Checker => {
  const { database, changes, clock, jobs, dns, issuing, cnameHost } = needs

  /** Whether a name that is somebody's may be given to another. */
  const mayLose = async (holder: DomainRow & { isLive: boolean }, signal: AbortSignal): Promise<boolean> => {
    if (!holder.isLive) return true
    const proof = await prove(dns, holder, cnameHost, signal)
    return !isProven(proof) && !proof.isUncertain
  }

  const take = async (tx: Db, holder: DomainRow, now: Date) => {
    await domainStore(tx).update(holder.project_id, holder.id, {
      ...{ status: "failed", last_error: LOST, verified_at: null, updated_at: now },
      ...{ txt_found: false, cname_found: false },
    })
    await changes.invalidate(tx, DOMAIN_TOPIC, holder.id)
  }

  const check: Checker["check"] = async (projectId, id, given) => {
    const seen = await domainStore(database.db).find(projectId, id)
    if (!seen) return undefined
    const signal = AbortSignal.any([given, AbortSignal.timeout(CHECK_MS_MAX)])
    const proof = await prove(dns, seen, cnameHost, signal)
    const rival =
      isProven(proof) && seen.status !== "active"
        ? await domainStore(database.db).findHolder(seen.domain)
        : undefined
    const rivalMayLose = rival ? await mayLose(rival, signal) : false
    return database.transaction(async tx => {
      const store = domainStore(tx)
      await store.lockName(seen.domain)
      const row = await store.findForUpdate(projectId, id)
      if (!row) return undefined
      const now = new Date(clock.now())
      const holder =
        isProven(proof) && row.status !== "active" ? await store.findHolder(row.domain) : undefined
      // A holder that came while the records were looked up was not judged, and stays.
      const isTaken = holder !== undefined && !(rivalMayLose && holder.id === rival?.id)
      if (holder && !isTaken) await take(tx, holder, now)
      const change = progressOf(row, proof, isTaken, now)
      await store.update(projectId, id, change)
      const isNew = change.status === "active"
      if (isNew) await changes.invalidate(tx, DOMAIN_TOPIC, id)
      const mayIssue = isNew && issuing.isPossible && row.certificate_id === null
      const certificate = mayIssue ? await issuing.begin(tx, row, now) : {}
      const checked = { ...row, ...change, ...certificate }
      await enqueue(tx, checked)
      return { row: checked, isTaken }
    })
  }

  const enqueue: Checker["enqueue"] = async (db, row) => {
    if (!row.next_check_at) return
    await jobs.enqueue(db, {
      queue: VERIFY_QUEUE,
      tenantId: row.organization_id,
      payload: { projectId: row.project_id, domainId: row.id } satisfies Payload,
      runAt: row.next_check_at,
      dedupeKey: row.id,
    })
  }

  jobs.define<Payload>({
    name: VERIFY_QUEUE,
    concurrency: 4,
    perTenantConcurrency: 2,
    async run({ payload: { projectId, domainId } }, { signal }) {
      const row = await domainStore(database.db).find(projectId, domainId)
      if (!row?.next_check_at) return undefined
      // Somebody asked in the meantime, and was checked.
      if (row.next_check_at.getTime() > clock.now()) return { kind: "again", at: row.next_check_at }
      const checked = await check(projectId, domainId, signal)
      return checked?.row.next_check_at ? { kind: "again", at: checked.row.next_check_at } : undefined
    },
  })

  return { check, enqueue }
}
