import type { Outcome, QueueDefinition, RetrySchedule } from "./jobs.ts"

/** After 5 s, 5 min, 30 min and 2 h, as the example of Standard Webhooks 1.0.0 begins. */
const RETRIES: RetrySchedule = [5_000, 300_000, 1_800_000, 7_200_000]
/** Delays differ by this part either way, so that what failed together does not come back together. */
export const JITTER = 0.2
const NAME = /^[a-z][a-z0-9_-]*(\.[a-z0-9_-]+)*$/
const NAME_LENGTH_MAX = 64
const ERROR_LENGTH_MAX = 2_000
const CONCURRENCY_MAX = 1_000
const CAP_MAX = 1_000_000
const TIMEOUT_MS_MAX = 7 * 86_400_000
const LEASE_SECONDS_MIN = 5
const DELAY_MS_MAX = 10 * 365 * 86_400_000

/** A definition with everything that it left out. */
export interface Queue {
  readonly definition: QueueDefinition
  readonly name: string
  readonly concurrency: number
  readonly perTenantConcurrency: number | undefined
  readonly perTargetConcurrency: number | undefined
  readonly leaseMs: number
  readonly timeoutMs: number
  readonly deadRetentionMs: number
  /** Milliseconds from the end of the attempt of that number to the next; undefined when it was the last. */
  readonly delayAfter: (attempt: number) => number | undefined
  /** What becomes of a job that would be dead, where that is something else. */
  readonly insteadOfDead: ((dueAt: Date, error: string) => Outcome) | undefined
}

const retryDelays =
  (retries: RetrySchedule) =>
  (attempt: number, random: () => number = Math.random): number | undefined => {
    if (typeof retries === "function") return retries(attempt)
    const delayMs = retries[attempt - 1]
    return delayMs === undefined ? undefined : Math.round(delayMs * (1 - JITTER + 2 * JITTER * random()))
  }

export const checkName = (name: string): void => {
  if (!NAME.test(name) || name.length > NAME_LENGTH_MAX) throw new RangeError(`no name for a queue: ${name}`)
}

const between = (name: string, value: number, min: number, max: number): number => {
  if (Number.isInteger(value) && value >= min && value <= max) return value
  throw new RangeError(`${name} is ${value}, and must be from ${min} to ${max}`)
}

export const completeQueue = (definition: QueueDefinition, insteadOfDead?: Queue["insteadOfDead"]): Queue => {
  const { name, concurrency = 10, perTenantConcurrency, perTargetConcurrency } = definition
  const { leaseSeconds = 30, timeoutMs = 60_000, deadRetentionMs = 30 * 86_400_000 } = definition
  checkName(name)
  if ("batchMax" in definition) between("batchMax", definition.batchMax, 1, CONCURRENCY_MAX)
  for (const cap of [perTenantConcurrency, perTargetConcurrency]) between("a cap", cap ?? 1, 1, CAP_MAX)
  const delayAfter = retryDelays(definition.retries ?? RETRIES)
  return {
    definition,
    name,
    concurrency: between("concurrency", concurrency, 1, CONCURRENCY_MAX),
    perTenantConcurrency,
    perTargetConcurrency,
    leaseMs: between("leaseSeconds", leaseSeconds, LEASE_SECONDS_MIN, 3600) * 1000,
    timeoutMs: between("timeoutMs", timeoutMs, 1, TIMEOUT_MS_MAX),
    deadRetentionMs,
    delayAfter: attempt => delayAfter(attempt),
    insteadOfDead,
  }
}

const textOf = (error: unknown): string => {
  try {
    return error instanceof Error ? error.message || error.name : String(error)
  } catch {
    return "something was thrown that has no text"
  }
}

/** What is kept of an error: enough to see what it was. */
export const errorText = (error: unknown): string => {
  const text = textOf(error)
  // PostgreSQL's text has no null character.
  return text.replaceAll("\0", "").slice(0, ERROR_LENGTH_MAX)
}

/** Where a job goes after an attempt. `at` is undefined where nothing comes after it. */
export interface Settlement {
  readonly kind: "done" | "dead" | "retry" | "again" | "release"
  readonly at?: Date | undefined
  readonly error?: string | undefined
}

interface Attempted {
  readonly attempt: number
  readonly dueAt: Date
}

export const buried = ({ insteadOfDead }: Queue, { dueAt }: Attempted, error: string): Settlement =>
  insteadOfDead?.(dueAt, error) ?? { kind: "dead", error }

/** Never before now, nor a time that PostgreSQL cannot read. */
const notBefore = (nowMs: number, ms: number): Date =>
  new Date(ms > nowMs ? Math.min(ms, nowMs + DELAY_MS_MAX) : nowMs)

/** What the handler said of a job. */
export const settlementOf = (queue: Queue, job: Attempted, outcome: Outcome, nowMs: number): Settlement => {
  if (outcome.kind === "done") return outcome
  if (outcome.kind === "again") return { kind: "again", at: notBefore(nowMs, outcome.at.getTime()) }
  const error = errorText(outcome.reason)
  if (outcome.kind === "dead" || queue.delayAfter(job.attempt) === undefined) return buried(queue, job, error)
  return { kind: "retry", at: notBefore(nowMs, outcome.at.getTime()), error }
}

/** What becomes of a job whose attempt failed. */
export const settlementOfFailure = (
  queue: Queue,
  job: Attempted,
  error: string,
  nowMs: number,
): Settlement => {
  const delayMs = queue.delayAfter(job.attempt)
  if (delayMs === undefined) return buried(queue, job, error)
  return { kind: "retry", at: notBefore(nowMs, nowMs + delayMs), error }
}

/** True for a job that should not have had this attempt: the process of the last one it had died. */
export const isSpent = ({ delayAfter }: Queue, attempt: number): boolean =>
  attempt > 1 && delayAfter(attempt - 1) === undefined
