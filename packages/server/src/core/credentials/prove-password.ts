import type { Db } from "../../kernel/db/database.ts"
import { fault, isFault } from "../../kernel/fault.ts"
import type { Passwords } from "../accounts/passwords.ts"
import { type AttemptCounts, countAttempt, takeBackAttempt } from "./attempts.ts"
import { failureStore } from "./failure-store.ts"

export interface PasswordAttempt {
  readonly db: Db
  readonly passwords: Pick<Passwords, "verify">
  /** Undefined: there is nobody of that name, or they have no password. Every error reads the same and takes as long. */
  readonly hash: string | undefined
  readonly password: string
  readonly counts: AttemptCounts
  readonly now: Date
}

/**
 * Checks a password; throws `invalid_credentials` or `account_locked`, which tell nothing about whether the account exists.
 * The attempt counts as a failure before it is checked, so that guesses sent at once cannot outrun the count; whoever
 * succeeds clears it in the transaction of what the proof was for. Failures lock the place that they came from. Many
 * from many places lock all but those that the account was signed in from: guessing locks nobody out at home.
 */
export const provePassword = async (attempt: PasswordAttempt): Promise<void> => {
  const { db, passwords, hash, password, counts, now } = attempt
  await countAttempt(db, counts, now)
  try {
    if (await passwords.verify(password, hash)) {
      // Failures from other networks stay, because their reset would reveal that the account exists and signed in.
      if (counts.elsewhere) await failureStore(db).takeBack(counts.elsewhere)
      return
    }
  } catch (error) {
    // The password was not checked, so it was no failure.
    if (isFault(error, "service_unavailable")) await takeBackAttempt(db, counts)
    throw error
  }
  throw fault("invalid_credentials")
}
