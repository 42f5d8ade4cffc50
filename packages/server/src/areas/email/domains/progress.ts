/** What a domain is after a check of its records. */
import type { DnsRecordName } from "@svc/contract"
import type { Judgement } from "./judge.ts"

export type DomainStatus = "not_started" | "pending" | "verified" | "partially_verified" | "failed"
export type Findings = Readonly<Partial<Record<DnsRecordName, Judgement>>>

export interface DomainState {
  readonly status: DomainStatus
  readonly findings: Findings
  readonly ownership_proven: boolean
  readonly checking_since: Date
  readonly checks: number
  readonly verified_at: Date | null
}

export interface Progress extends DomainState {
  readonly last_checked_at: Date
  /** Null: no more, until somebody asks. */
  readonly next_check_at: Date | null
}

const MINUTE_MS = 60_000
/** Before the first four checks; later ones follow by the hour. */
const DELAYS_MS = [1, 5, 15, 60].map(minutes => minutes * MINUTE_MS)
const HOUR_MS = 60 * MINUTE_MS
/** How long records may take to appear; and how long a verified domain may lack some, for people make mistakes. */
const SEARCH_MS = 72 * HOUR_MS
/** Who owns a domain changes, and records get lost. */
const RECHECK_MS = 24 * HOUR_MS

export const delayBefore = (checks: number): number => DELAYS_MS[checks] ?? HOUR_MS

const DELIVERY_RECORDS = ["DKIM", "RETURN_PATH", "SPF"] as const

/** A server that does not answer says nothing against what was found before. */
const holds = (record: DnsRecordName, before: Findings, now: Findings): boolean => {
  const status = now[record]?.status
  return status === "verified" || (status === "temporary_failure" && before[record]?.status === "verified")
}

const kept = (before: Findings, now: Findings): Findings =>
  Object.fromEntries(
    Object.entries(now).map(([name, judgement]) => {
      const known = before[name as DnsRecordName]
      const isKept = judgement?.status === "temporary_failure" && known?.status === "verified"
      return [name, isKept ? known : judgement]
    }),
  )

const statusOf = (
  state: DomainState,
  facts: { readonly isComplete: boolean; readonly isProven: boolean; readonly isOver: boolean },
): DomainStatus => {
  if (facts.isComplete) return "verified"
  if (facts.isOver) return "failed"
  if (state.status === "verified") return "verified"
  return facts.isProven ? "partially_verified" : "pending"
}

/** Our key in the zone proves the ownership as well as the token does, so people may remove that later. */
export const progressOf = (state: DomainState, findings: Findings, now: Date): Progress => {
  const has = (record: DnsRecordName) => holds(record, state.findings, findings)
  const isProven =
    findings.OWNERSHIP?.status === "verified" || (state.ownership_proven && (has("OWNERSHIP") || has("DKIM")))
  const isComplete = isProven && DELIVERY_RECORDS.every(has)
  const isOver = now.getTime() - state.checking_since.getTime() >= SEARCH_MS
  const status = statusOf(state, { isComplete, isProven, isOver })
  const checks = isComplete ? 0 : state.checks + 1
  const delayMs = isComplete ? RECHECK_MS : delayBefore(checks)
  return {
    status,
    findings: kept(state.findings, findings),
    ownership_proven: isProven,
    checking_since: isComplete ? now : state.checking_since,
    checks,
    verified_at: isComplete ? (state.verified_at ?? now) : status === "failed" ? null : state.verified_at,
    last_checked_at: now,
    next_check_at: status === "failed" ? null : new Date(now.getTime() + delayMs),
  }
}

/** Begins the search for the records anew, where the one before is over. */
export const restarted = <State extends DomainState>(state: State, now: Date): State =>
  state.status === "failed" ? { ...state, status: "pending", checking_since: now, checks: 0 } : state
