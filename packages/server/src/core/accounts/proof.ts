import type { Db } from "../../kernel/db/database.ts"
import { type Fault, fault, isFault } from "../../kernel/fault.ts"
import type { Passwords } from "./passwords.ts"
import { FAILURES_MAX, LOCK_SECONDS_MAX, lockSecondsAfter } from "./rules.ts"
import { accountStore, type UserRow } from "./store.ts"

const LOCK_SECONDS = Array.from({ length: FAILURES_MAX }, (_, index) => lockSecondsAfter(index + 1))

const locked = (user: UserRow | undefined, now: Date): Fault => {
  const restMs = (user?.locked_until?.getTime() ?? 0) - now.getTime()
  const seconds = restMs > 0 ? Math.ceil(restMs / 1000) : LOCK_SECONDS_MAX
  return fault("account_locked", undefined, { headers: { "retry-after": String(seconds) } })
}

interface Attempt {
  readonly db: Db
  readonly passwords: Passwords
  /** undefined: nobody has this address. The refusal takes as long and reads the same. */
  readonly user: UserRow | undefined
  readonly password: string
  readonly now: Date
}

/**
 * Checks a password; throws `invalid_credentials` or `account_locked`. The attempt counts as a failure before it is
 * checked, so that guesses sent at once cannot outrun the count; whoever succeeds clears it with `clearFailures`, in the
 * transaction of what the proof was for.
 */
export const proveIdentity = async ({ db, passwords, user, password, now }: Attempt): Promise<UserRow> => {
  const store = accountStore(db)
  if (user && !(await store.countFailure(user.id, LOCK_SECONDS, now)))
    throw locked(await store.findUser(user.id), now)
  try {
    if ((await passwords.verify(password, user?.password_hash)) && user) return user
  } catch (error) {
    // Nobody looked at the password, so it was no failure.
    if (user && isFault(error, "service_unavailable")) await store.takeBackFailure(user.id)
    throw error
  }
  throw fault("invalid_credentials")
}
