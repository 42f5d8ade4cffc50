import type { Db } from "../../kernel/db/database.ts"
import { fault, isFault } from "../../kernel/fault.ts"
import { addressBucket } from "../../kernel/stages/limit.ts"
import { type AttemptCounts, countAttempt, passwordCounts, takeBackAttempt } from "../credentials/attempts.ts"
import { accountHash, failureStore } from "../credentials/failure-store.ts"
import type { Passwords } from "./passwords.ts"
import { sourceStore } from "./source-store.ts"
import type { UserRow } from "./store.ts"

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

const countsOf = async ({ db, email, user, ip, isSignedIn = false }: Attempt): Promise<AttemptCounts> => {
  const source = addressBucket(ip)
  const isKnown = (await sourceStore(db).isKnown(user?.id, source)) || isSignedIn
  return passwordCounts(accountHash(email), source, isKnown)
}

/**
 * Checks a password; throws `invalid_credentials` or `account_locked`, which tell nothing about whether the account exists.
 * The attempt counts as a failure before it is checked, so that guesses sent at once cannot outrun the count; whoever
 * succeeds clears it with `clearFailures`, in the transaction of what the proof was for. Failures lock the place that they came
 * from. Many from many places lock all but those that the account was signed in from: guessing locks nobody out at home.
 */
export const proveIdentity = async (attempt: Attempt): Promise<UserRow> => {
  const { db, passwords, user, password, now } = attempt
  const counts = await countsOf(attempt)
  await countAttempt(db, counts, now)
  try {
    if ((await passwords.verify(password, user?.password_hash)) && user) {
      // Failures from other networks stay, because their reset would reveal that the account exists and signed in.
      if (counts.elsewhere) await failureStore(db).takeBack(counts.elsewhere)
      return user
    }
  } catch (error) {
    // The password was not checked, so it was no failure.
    if (isFault(error, "service_unavailable")) await takeBackAttempt(db, counts)
    throw error
  }
  throw fault("invalid_credentials")
}

/** Ends the place's row of failures, and remembers the place. */
export const clearFailures = async (db: Db, { email, id }: UserRow, ip: string, now: Date) => {
  const source = addressBucket(ip)
  await failureStore(db).clear({ account: accountHash(email), source })
  await sourceStore(db).add(id, source, now)
}
