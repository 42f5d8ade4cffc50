import type { areas } from "@svc/contract"
import { checkPassword } from "../../core/accounts/rules.ts"
import type { Call, EndUserFacts } from "../../kernel/call.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import type { Handlers } from "../../kernel/implement.ts"
import type { Context } from "./context.ts"
import { factorStore } from "./factor-store.ts"
import { checkRedirect, requestMail } from "./mails.ts"
import { toSession, toUser } from "./payloads.ts"
import { mergeMetadata } from "./rules.ts"
import { settleNewPassword } from "./settling.ts"
import { callerOf, proveEndUser } from "./sign-in-handlers.ts"
import { sessionStore, type UserRow, userStore } from "./store.ts"

type Specs = typeof areas.auth.specs

/** The pipeline lets nobody else call these operations. */
export const endUserOf = ({ principal }: Call): EndUserFacts => {
  if (!principal.endUser) throw fault("token_invalid")
  return principal.endUser
}

/** Only the user's own rows are ever touched: the id comes from the token, never from the request. */
export const getUser = async (call: Call): Promise<UserRow> => {
  const user = await userStore(call.db, call.projectTenant.projectId).find(endUserOf(call).id)
  // Deleted since the token was checked.
  if (!user) throw fault("token_invalid")
  return user
}

/** The row as it is now, locked until the transaction ends. */
export const lockUser = async (tx: Db, call: Call): Promise<UserRow> => {
  const user = await userStore(tx, call.projectTenant.projectId).findForUpdate(endUserOf(call).id)
  if (!user) throw fault("token_invalid")
  return user
}

export const userHandlers = (
  context: Context,
): Pick<Handlers<Specs>, "logout" | "getUser" | "updateUser" | "listSessions" | "revokeSession"> => {
  const { database, passwords, projectSettings, userChanged } = context

  /** The hash that the present password was proved against; undefined for a user who has none. */
  const provePresent = async (call: Call, user: UserRow, password: string | undefined) => {
    // Nobody signs in without an address: the password of one who has none protects nothing yet.
    if (user.password_hash === null || user.email === null) return
    if (password === undefined) throw fault("missing_parameter", { field: "current_password" })
    await proveEndUser(context, callerOf(call), { email: user.email, user, password }, true)
  }

  return {
    async logout({ scope = "local" }, call): Promise<undefined> {
      const { id, sessionId } = endUserOf(call)
      await database.transaction(async tx => {
        const sessions = sessionStore(tx, call.projectTenant.projectId)
        if (scope === "local") await sessions.delete(id, sessionId)
        else if (scope === "others") await sessions.deleteOthers(id, sessionId)
        else await sessions.deleteAll(id)
        await userChanged(tx, id)
      })
    },

    async getUser(_input, call) {
      const user = await getUser(call)
      return toUser(user, await factorStore(call.db, user.project_id).list(user.id))
    },

    async updateUser({ email, password, current_password, data, redirect_to }, call) {
      const before = await getUser(call)
      const caller = callerOf(call)
      const isProof = email !== undefined || password !== undefined
      await checkRedirect(context, caller, redirect_to)
      const { password_length_min } = await projectSettings.of(before.project_id)
      if (password !== undefined) checkPassword(password, before.email ?? "", password_length_min)
      if (isProof) await provePresent(call, before, current_password)
      const hash = password === undefined ? undefined : await passwords.hash(password)
      const changed = await database.transaction(async tx => {
        const locked = await lockUser(tx, call)
        // The password was changed meanwhile: what was proved is no longer the password.
        if (isProof && locked.password_hash !== before.password_hash) throw fault("invalid_credentials")
        const keptSessionId = endUserOf(call).sessionId
        const user =
          hash === undefined
            ? locked
            : await settleNewPassword(context, tx, locked, { hash, keptSessionId, now: call.now })
        const change = {
          user_metadata: mergeMetadata("data", locked.user_metadata, data),
          updated_at: call.now,
        }
        await userStore(tx, user.project_id).update(user.id, change)
        // After the password, which ends earlier mails.
        if (email !== undefined)
          await requestMail(context, tx, caller, {
            kind: "email_change",
            email,
            redirectTo: redirect_to,
            userId: user.id,
          })
        return { ...user, ...change }
      })
      return toUser(changed, await factorStore(call.db, changed.project_id).list(changed.id))
    },

    async listSessions(_input, call) {
      const { id, sessionId } = endUserOf(call)
      const rows = await sessionStore(call.db, call.projectTenant.projectId).list(id)
      const live = rows.filter(row => row.idle_until > call.now && row.expires_at > call.now)
      return { sessions: live.map(row => toSession(row, sessionId)) }
    },

    async revokeSession({ id: sessionId }, call): Promise<undefined> {
      const { id } = endUserOf(call)
      await database.transaction(async tx => {
        if (!(await sessionStore(tx, call.projectTenant.projectId).delete(id, sessionId)))
          throw fault("resource_not_found")
        await userChanged(tx, id)
      })
    },
  }
}
