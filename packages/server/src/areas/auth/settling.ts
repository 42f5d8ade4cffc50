/** What ends when a user proves an address or gets another password: each is done in one place. */
import { clearCodeAttempts } from "../../core/credentials/attempts.ts"
import { guessedHash } from "../../core/credentials/failure-store.ts"
import type { Db } from "../../kernel/db/database.ts"
import type { Context } from "./context.ts"
import { factorStore } from "./factor-store.ts"
import { mailStore } from "./mail-store.ts"
import { sessionStore, type UserRow, userStore } from "./store.ts"

/** Codes of authenticators and recovery codes of a user count together. */
export const codeGuesses = (userId: string): Buffer => guessedHash("auth.codes", userId)

type Told = Pick<Context, "userChanged">

/** Every mail and every sign-in that waits could still sign somebody in. */
const endProofs = async (tx: Db, { id, project_id }: UserRow): Promise<void> => {
  await mailStore(tx, project_id).endAll(id)
  await factorStore(tx, project_id).endAllWaiting(id)
}

/**
 * Sets a password, and ends all that an earlier one, or a mail, could lead to: sessions but the one that is kept, mails of
 * every kind, and sign-ins that wait for the second factor. Second factors stay.
 */
export const settleNewPassword = async (
  { userChanged }: Told,
  tx: Db,
  user: UserRow,
  change: { readonly hash: string; readonly keptSessionId?: string | undefined; readonly now: Date },
): Promise<UserRow> => {
  const { hash, keptSessionId, now } = change
  const changed = { password_hash: hash, updated_at: now }
  await userStore(tx, user.project_id).update(user.id, changed)
  await endProofs(tx, user)
  // Whoever guessed codes knew the old password.
  await clearCodeAttempts(tx, codeGuesses(user.id))
  const sessions = sessionStore(tx, user.project_id)
  await (keptSessionId === undefined
    ? sessions.deleteAll(user.id)
    : sessions.deleteOthers(user.id, keptSessionId))
  await userChanged(tx, user.id)
  return { ...user, ...changed }
}

/**
 * Confirms an address. Whoever registered it before its owner proved it may have been somebody else: unless it is known to
 * be the same person, their sessions, second factors, recovery codes and password end.
 */
export const settleConfirmation = async (
  { userChanged }: Told,
  tx: Db,
  user: UserRow,
  { isSamePerson, now }: { readonly isSamePerson: boolean; readonly now: Date },
): Promise<UserRow> => {
  if (user.email_confirmed_at) return user
  const changed = { email_confirmed_at: now, updated_at: now, ...(!isSamePerson && { password_hash: null }) }
  await userStore(tx, user.project_id).update(user.id, changed)
  await endProofs(tx, user)
  if (!isSamePerson) {
    await factorStore(tx, user.project_id).deleteAll(user.id)
    await sessionStore(tx, user.project_id).deleteAll(user.id)
  }
  await userChanged(tx, user.id)
  return { ...user, ...changed }
}

/** Ends all that signs a user in, or is signed in: after a ban. */
export const endEverything = async ({ userChanged }: Told, tx: Db, user: UserRow): Promise<void> => {
  await endProofs(tx, user)
  await sessionStore(tx, user.project_id).deleteAll(user.id)
  await userChanged(tx, user.id)
}
