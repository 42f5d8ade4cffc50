import type { Call } from "../../kernel/call.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { accountStore, type UserRow } from "./store.ts"

/** Only the user's own rows are ever touched: the id comes from the session, never from the request. */
export const getUser = async ({ db, principal }: Call): Promise<UserRow> => {
  const user = await accountStore(db).findUser(principal.id)
  // Deleted since the session was looked up.
  if (!user) throw fault("session_expired")
  return user
}

export const sessionIdOf = ({ principal }: Call): string => {
  if (!principal.session) throw fault("session_required")
  return principal.session.id
}

/** The row, locked in the transaction: sign-ins, changes of factors, foundings and the end of one account take turns. */
export const lockUser = async ({ principal }: Pick<Call, "principal">, tx: Db): Promise<UserRow> => {
  const user = await accountStore(tx).findUserForUpdate(principal.id)
  if (!user) throw fault("session_expired")
  return user
}
