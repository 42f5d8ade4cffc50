import type { Db } from "../../kernel/db/database.ts"
import { type Fault, fault, isFault } from "../../kernel/fault.ts"
import { addressBucket } from "../../kernel/stages/limit.ts"
import { accountHash, ELSEWHERE, type Failures, failureStore } from "./failure-store.ts"
import type { Passwords } from "./passwords.ts"
import { FAILURES_ELSEWHERE_FREE, FAILURES_FREE, LOCK_SECONDS_MAX, lockSecondsOf } from "./rules.ts"
import type { UserRow } from "./store.ts"

const LOCKS = lockSecondsOf(FAILURES_FREE)
const LOCKS_ELSEWHERE = lockSecondsOf(FAILURES_ELSEWHERE_FREE)

const locked = (until: Date | null, now: Date): Fault => {
  const restMs = (until?.getTime() ?? 0) - now.getTime()
  const seconds = restMs > 0 ? Math.ceil(restMs / 1000) : LOCK_SECONDS_MAX
  return fault("account_locked", undefined, { headers: { "retry-after": String(seconds) } })
}

export interface Attempt {
  readonly db: Db
  readonly passwords: Passwords
  readonly email: string
  /** undefined: no account has this address. Every error reads the same and takes as long. */
  readonly user: UserRow | undefined
  readonly password: string
  readonly ip: string
  /** Who is signed in already guesses from a place that is known. */
  readonly isSignedIn?: boolean
  readonly now: Date
}

/** The counts that an attempt goes by: that of its place, and of all unknown places together where it is one. */
const countsOf = async ({ db, email, user, ip, isSignedIn = false }: Attempt) => {
  const account = accountHash(email)
  const source = addressBucket(ip)
  const isKnown = (await failureStore(db).isKnownSource(user?.id, source)) || isSignedIn
  return { own: { account, source }, elsewhere: isKnown ? undefined : { account, source: ELSEWHERE } }
}

/** Counts the attempt as a failure; throws `account_locked` where it may not be made. */
const countAttempt = async (
  { db, now }: Attempt,
  { own, elsewhere }: { readonly own: Failures; readonly elsewhere: Failures | undefined },
) => {
  const store = failureStore(db)
  if (!(await store.count(own, LOCKS, now))) throw locked(await store.lockedUntil(own), now)
  if (!elsewhere || (await store.count(elsewhere, LOCKS_ELSEWHERE, now))) return
  await store.takeBack(own)
  throw locked(await store.lockedUntil(elsewhere), now)
}

/**
 * Checks a password; throws `invalid_credentials` or `account_locked`, which tell nothing about whether the account exists.
 * The attempt counts as a failure before it is checked, so that guesses sent at once cannot outrun the count; whoever
 * succeeds clears it with `clearFailures`, in the transaction of what the proof was for. Failures lock the place that they came
 * from. Many from many places lock all but those that the account was signed in from: guessing locks nobody out at home.
 */
export const proveIdentity = async (attempt: Attempt): Promise<UserRow> => {
  const { db, passwords, user, password } = attempt
  const counts = await countsOf(attempt)
  await countAttempt(attempt, counts)
  try {
    if ((await passwords.verify(password, user?.password_hash)) && user) {
      // Failures from other networks stay, because their reset would reveal that the account exists and signed in.
      if (counts.elsewhere) await failureStore(db).takeBack(counts.elsewhere)
      return user
    }
  } catch (error) {
    // The password was not checked, so it was no failure.
    if (isFault(error, "service_unavailable")) {
      for (const counted of [counts.own, counts.elsewhere])
        if (counted) await failureStore(db).takeBack(counted)
    }
    throw error
  }
  throw fault("invalid_credentials")
}

/** Ends the place's row of failures, and remembers the place. */
export const clearFailures = async (db: Db, { email, id }: UserRow, ip: string, now: Date) => {
  const source = addressBucket(ip)
  await failureStore(db).clear({ account: accountHash(email), source })
  await failureStore(db).addSource(id, source, now)
}
