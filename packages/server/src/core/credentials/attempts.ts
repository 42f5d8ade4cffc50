import type { Db } from "../../kernel/db/database.ts"
import { type Fault, fault } from "../../kernel/fault.ts"
import { ELSEWHERE, type FailureStore, type Failures, failureStore } from "./failure-store.ts"

const LOCK_SECONDS_MIN = 60
export const LOCK_SECONDS_MAX = 3600
/** A minute doubles to an hour in six steps. */
const LOCK_STEPS = 7
/** A hard stop lasts until the count is cleared, by a new password for example; nobody waits for a year. */
const STOP_SECONDS = 365 * 86_400

/** Failures in a row from one place before it has to rest. */
export const FAILURES_FREE = 10
/** The same of all places together that the account was never signed in from (NIST SP 800-63B, 3.2.2). */
export const FAILURES_ELSEWHERE_FREE = 100
/** Wrong codes of a second factor before it rests. */
export const CODE_FAILURES_FREE = 5
/** Wrong codes in a row after which none is accepted any more. */
const CODE_FAILURES_MAX = 100

/** The rest after each failure in a row, from the first: none, then a minute, doubling up to an hour, which stays. */
export const lockSecondsOf = (free: number): readonly (number | null)[] => [
  ...Array<null>(free - 1).fill(null),
  ...Array.from({ length: LOCK_STEPS }, (_, step) =>
    Math.min(LOCK_SECONDS_MAX, LOCK_SECONDS_MIN * 2 ** step),
  ),
]

/** The same with a hard stop at that many failures. */
const stoppingAt = (max: number, lockSeconds: readonly (number | null)[]): readonly (number | null)[] => [
  ...lockSeconds,
  ...Array<number>(max - 1 - lockSeconds.length).fill(LOCK_SECONDS_MAX),
  STOP_SECONDS,
]

const LOCKS = lockSecondsOf(FAILURES_FREE)
const LOCKS_ELSEWHERE = lockSecondsOf(FAILURES_ELSEWHERE_FREE)
const LOCKS_OF_CODES = stoppingAt(CODE_FAILURES_MAX, lockSecondsOf(CODE_FAILURES_FREE))

/** What one attempt is counted by. */
export interface AttemptCounts {
  readonly own: Failures
  /** Of all unknown places together; undefined where the place is known. */
  readonly elsewhere: Failures | undefined
}

/** The counts of a password: that of its place, and of all unknown places together where it is one. */
export const passwordCounts = (account: Buffer, source: string, isKnownSource: boolean): AttemptCounts => ({
  own: { account, source },
  elsewhere: isKnownSource ? undefined : { account, source: ELSEWHERE },
})

type LockCode = "account_locked" | "mfa_attempts_exceeded"

const locked = (code: LockCode, until: Date | null, now: Date): Fault => {
  const restMs = (until?.getTime() ?? 0) - now.getTime()
  const seconds = restMs > 0 ? Math.ceil(restMs / 1000) : LOCK_SECONDS_MAX
  return fault(code, undefined, { headers: { "retry-after": String(seconds) } })
}

/**
 * Counts the attempt at a password as a failure; throws `account_locked` where it may not be made. It is counted before it is
 * checked, so that guesses sent at once cannot outrun the count.
 */
export const countAttempt = async (
  db: Db,
  { own, elsewhere }: AttemptCounts,
  now: Date,
  store: FailureStore = failureStore(db),
): Promise<void> => {
  if (!(await store.count(own, LOCKS, now))) throw locked("account_locked", await store.lockedUntil(own), now)
  if (!elsewhere || (await store.count(elsewhere, LOCKS_ELSEWHERE, now))) return
  await store.takeBack(own)
  throw locked("account_locked", await store.lockedUntil(elsewhere), now)
}

/** For an attempt that could not be checked: it was no failure. */
export const takeBackAttempt = async (db: Db, { own, elsewhere }: AttemptCounts): Promise<void> => {
  for (const counted of [own, elsewhere]) if (counted) await failureStore(db).takeBack(counted)
}

/**
 * Counts the attempt at a code of a second factor, wherever it comes from: whoever tries knows the password already. `owner` is
 * from `guessedHash`. Throws `mfa_attempts_exceeded`. Success clears it by `clearCodeAttempts`.
 */
export const countCodeAttempt = async (db: Db, owner: Buffer, now: Date): Promise<void> => {
  const failures = { account: owner, source: ELSEWHERE }
  if (await failureStore(db).count(failures, LOCKS_OF_CODES, now)) return
  throw locked("mfa_attempts_exceeded", await failureStore(db).lockedUntil(failures), now)
}

export const clearCodeAttempts = (db: Db, owner: Buffer): Promise<void> =>
  failureStore(db).clear({ account: owner, source: ELSEWHERE })
