import type { areas } from "@svc/contract"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Handlers } from "../../kernel/implement.ts"
import type { Jobs } from "../../kernel/jobs/jobs.ts"
import { addressBucket } from "../../kernel/stages/limit.ts"
import { accountHash, failureStore } from "../credentials/failure-store.ts"
import { checkMailLimits } from "../credentials/mail-limits.ts"
import type { Passwords } from "./passwords.ts"
import { enqueueResetMail } from "./reset-mail.ts"
import { type ResetRow, resetStore } from "./reset-store.ts"
import { checkPassword, RESET_LIFETIME_MS } from "./rules.ts"
import { endWaits } from "./second-factor.ts"
import { userTarget } from "./sign-in.ts"
import { accountStore } from "./store.ts"
import { tokenHash } from "./token.ts"

type Specs = typeof areas.account.specs

export interface ResetNeeds {
  readonly passwords: Passwords
  /** Undefined if this installation sends no mail. */
  readonly mailJobs: (() => Jobs) | undefined
}

export const resetHandlers = ({
  passwords,
  mailJobs,
}: ResetNeeds): Pick<Handlers<Specs>, "resetPassword" | "confirmPasswordReset"> => ({
  resetPassword: async ({ email }, { db, ip, now }) => {
    if (!mailJobs)
      throw fault("service_unavailable", {
        reason: "this installation sends no mail; SVC_SMTP_URL or SVC_MAIL_DIRECT enables it",
      })
    const row: ResetRow = {
      id: newId(now.getTime()),
      account: accountHash(email),
      source: addressBucket(ip),
      email,
      token_hash: null,
      is_open: true,
      created_at: now,
      expires_at: new Date(now.getTime() + RESET_LIFETIME_MS),
    }
    const jobs = mailJobs()
    await db.transaction().execute(async tx => {
      await resetStore(tx).lock()
      await checkMailLimits(resetStore(tx).timeOf, row)
      await resetStore(tx).insert(row)
      await enqueueResetMail(jobs, tx, row)
    })
    return { email, expires_at: row.expires_at.toISOString() }
  },

  confirmPasswordReset: async ({ token, password }, call): Promise<undefined> => {
    const { db, now } = call
    const reset = await resetStore(db).findOpen(tokenHash(token), now)
    const user = reset && (await accountStore(db).findUserByEmail(reset.email))
    if (!user) throw fault("token_invalid_or_expired")
    call.describe({ tenantId: user.id, targets: [userTarget(user)] })
    checkPassword(password, user.email)
    const passwordHash = await passwords.hash(password)
    await db.transaction().execute(async tx => {
      // Hashing took a while: of two requests with one token, the first wins.
      if (!(await resetStore(tx).end(reset.id))) throw fault("token_invalid_or_expired")
      await resetStore(tx).endAll(reset.account)
      await accountStore(tx).updateUser(user.id, { password_hash: passwordHash })
      await accountStore(tx).deleteSessions(user.id)
      await endWaits(tx, user.id)
      // Whoever reads the mails of the address is its owner, so guesses of others no longer keep them out.
      await failureStore(tx).clearAll(accountHash(user.email))
    })
  },
})
