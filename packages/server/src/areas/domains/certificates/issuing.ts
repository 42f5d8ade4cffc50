/** Has certificates issued, and renewed long before they end. */
import type { SecretBox } from "../../../core/secrets/secret-box.ts"
import type { Clock } from "../../../kernel/clock.ts"
import type { Changes } from "../../../kernel/db/changes.ts"
import type { Database, Db } from "../../../kernel/db/database.ts"
import type { Jobs } from "../../../kernel/jobs/jobs.ts"
import type { Logger } from "../../../kernel/log.ts"
import { type DomainRow, domainStore } from "../store.ts"
import { DOMAIN_TOPIC } from "../table.ts"
import { type Acme, AcmeError } from "./acme.ts"
import { type ReadChain, readChain } from "./chain.ts"
import { certificateStore } from "./store.ts"

export const CERTIFICATE_QUEUE = "domains.certificate"

export interface Issuing {
  /** Whether an authority was named. */
  readonly isPossible: boolean
  /** Has a certificate issued for an active domain; gives what the domain says of it. */
  begin(tx: Db, row: DomainRow, now: Date): Promise<Partial<DomainRow>>
}

interface Payload {
  readonly projectId: string
  readonly domainId: string
}

const ISSUE_MS_MAX = 180_000
const RETRY_MS_MIN = 5 * 60_000
const RETRY_MS_MAX = 24 * 3_600_000
const UNKNOWN_PROBLEM = "Issuing the certificate failed; it will be tried again."

/** When two thirds of its time are over. */
export const renewalMs = ({ notBefore, notAfter }: Pick<ReadChain, "notBefore" | "notAfter">): number =>
  notBefore.getTime() + ((notAfter.getTime() - notBefore.getTime()) * 2) / 3

/** Authorities count failures, and refuse whoever has too many. */
export const retryMs = (failures: number): number =>
  Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** Math.min(failures, 10))

export const createIssuing = (needs: {
  readonly database: Database
  readonly changes: Changes
  readonly clock: Clock
  readonly jobs: Jobs
  readonly log: Logger
  readonly box: SecretBox
  readonly acme: () => Promise<Acme> | undefined
  readonly isPossible: boolean
}): Issuing => {
  const { database, changes, clock, jobs, log, box, acme, isPossible } = needs

  const obtain = async (row: DomainRow, signal: AbortSignal): Promise<ReadChain> => {
    const client = await acme()
    if (!client) throw new AcmeError("No authority is set any more.")
    const store = certificateStore(database.db)
    try {
      const issued = await client.issue(
        row.domain,
        challenge => store.putChallenge(row.id, challenge, new Date(clock.now())),
        signal,
      )
      const read = readChain(issued, row.domain, clock.now())
      if (typeof read === "string") throw new AcmeError(`What the authority issued cannot be used: ${read}.`)
      return read
    } finally {
      await store.removeChallenges(row.id)
    }
  }

  /** Writes what came of it, unless the domain has changed hands meanwhile; gives when it is due again. */
  const conclude = async (row: DomainRow, outcome: ReadChain | string): Promise<Date | undefined> =>
    database.transaction(async tx => {
      const now = new Date(clock.now())
      const current = await domainStore(tx).findForUpdate(row.project_id, row.id)
      if (current?.status !== "active" || current.certificate_source !== "acme") return undefined
      const isIssued = typeof outcome !== "string"
      const nextMs = isIssued
        ? Math.max(renewalMs(outcome), now.getTime() + RETRY_MS_MIN)
        : now.getTime() + retryMs(current.certificate_failures)
      if (isIssued) await certificateStore(tx).put(box, row, outcome, now)
      await domainStore(tx).update(row.project_id, row.id, {
        certificate_next_at: new Date(nextMs),
        ...(!isIssued && {
          certificate_error: outcome,
          certificate_failures: current.certificate_failures + 1,
        }),
      })
      await changes.invalidate(tx, DOMAIN_TOPIC, row.id)
      return new Date(nextMs)
    })

  jobs.define<Payload>({
    ...{ name: CERTIFICATE_QUEUE, concurrency: 4, perTenantConcurrency: 2, timeoutMs: ISSUE_MS_MAX },
    async run({ payload: { projectId, domainId } }, { signal }) {
      const row = await domainStore(database.db).find(projectId, domainId)
      const due = row?.certificate_next_at
      if (!row || !due || row.certificate_source !== "acme" || row.status !== "active") return undefined
      if (due.getTime() > clock.now()) return { kind: "again", at: due }
      const outcome = await obtain(row, signal).catch((error: unknown) => {
        if (error instanceof AcmeError) return error.message
        log.warn({ err: error, domain: row.domain }, "issuing a certificate failed; will retry")
        return UNKNOWN_PROBLEM
      })
      const at = await conclude(row, outcome)
      return at && { kind: "again", at }
    },
  })

  return {
    isPossible,
    async begin(tx, row, now) {
      const change = {
        ...{ certificate_source: "acme" as const, certificate_next_at: now },
        ...{ certificate_error: null, certificate_failures: 0, updated_at: now },
      }
      await domainStore(tx).update(row.project_id, row.id, change)
      await changes.invalidate(tx, DOMAIN_TOPIC, row.id)
      const job = {
        ...{ queue: CERTIFICATE_QUEUE, tenantId: row.organization_id, runAt: now, dedupeKey: row.id },
        payload: { projectId: row.project_id, domainId: row.id } satisfies Payload,
      }
      // In place of a renewal that is due some day.
      await jobs.enqueue(tx, job, { duplicates: "replace" })
      return change
    },
  }
}
