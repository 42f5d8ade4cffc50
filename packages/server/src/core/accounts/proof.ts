import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { addressBucket } from "../../kernel/stages/limit.ts"
import { type AttemptCounts, passwordCounts } from "../credentials/attempts.ts"
import { accountHash, failureStore } from "../credentials/failure-store.ts"
import { provePassword } from "../credentials/prove-password.ts"
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

/** Throws `invalid_credentials` or `account_locked`; `clearFailures` follows in the transaction of what the proof was for. */
export const proveIdentity = async (attempt: Attempt): Promise<UserRow> => {
  const { db, passwords, user, password, now } = attempt
  const counts = await countsOf(attempt)
  await provePassword({ db, passwords, hash: user?.password_hash, password, counts, now })
  if (!user) throw fault("invalid_credentials")
  return user
}

/** Ends the place's row of failures, and remembers the place. */
export const clearFailures = async (db: Db, { email, id }: UserRow, ip: string, now: Date) => {
  const source = addressBucket(ip)
  await failureStore(db).clear({ account: accountHash(email), source })
  await sourceStore(db).add(id, source, now)
}
