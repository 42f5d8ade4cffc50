import type { areas } from "@svc/contract"
import { checkPassword } from "../../core/accounts/rules.ts"
import { type Db, isUniqueViolation } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import type { Handlers } from "../../kernel/implement.ts"
import { addressBucket } from "../../kernel/stages/limit.ts"
import type { Context } from "./context.ts"
import { factorStore } from "./factor-store.ts"
import { checkRedirect, requestMail } from "./mails.ts"
import { toUser } from "./payloads.ts"
import { settleNewPassword } from "./settling.ts"
import { callerOf } from "./sign-in-handlers.ts"
import { type UserRow, userStore } from "./store.ts"
import { endUserOf, lockUser } from "./user-handlers.ts"

type Specs = typeof areas.auth.specs

/** Throws `conflict` where the address has a user. */
const takeAddress = async (tx: Db, user: UserRow, email: string): Promise<UserRow> => {
  const changed = { email, is_anonymous: false }
  await userStore(tx, user.project_id)
    .update(user.id, changed)
    .catch(error => {
      if (!isUniqueViolation(error, "users_email")) throw error
      throw fault("conflict", { reason: "this e-mail address has a user" })
    })
  return { ...user, ...changed }
}

export const linkHandlers = (context: Context): Pick<Handlers<Specs>, "linkAddress"> => {
  const { database, passwords, projectSettings, userChanged } = context

  return {
    async linkAddress({ email, password, redirect_to }, call) {
      const caller = callerOf(call)
      const settings = await projectSettings.of(caller.tenant.projectId)
      if (settings.signup !== "open") throw fault("signup_disabled")
      await checkRedirect(context, caller, redirect_to)
      if (password !== undefined) checkPassword(password, email, settings.password_length_min)
      const hash = password === undefined ? undefined : await passwords.hash(password)
      const linked = await database.transaction(async tx => {
        const locked = await lockUser(tx, call)
        if (locked.email !== null) throw fault("conflict", { reason: "the user has an e-mail address" })
        const keptSessionId = endUserOf(call).sessionId
        const user =
          hash === undefined
            ? locked
            : await settleNewPassword(context, tx, locked, { hash, keptSessionId, now: call.now })
        // Whose confirmation from the same place counts as the same person's.
        const asked = { signup_source: addressBucket(call.ip), updated_at: call.now }
        await userStore(tx, user.project_id).update(user.id, asked)
        await userChanged(tx, user.id)
        if (!settings.confirm_email) return await takeAddress(tx, { ...user, ...asked }, email)
        await requestMail(context, tx, caller, {
          kind: "email_change",
          email,
          redirectTo: redirect_to,
          userId: user.id,
        })
        return { ...user, ...asked }
      })
      return toUser(linked, await factorStore(call.db, linked.project_id).list(linked.id))
    },
  }
}
