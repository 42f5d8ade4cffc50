/** Mails that set a new password. */
import type { Db } from "../../kernel/db/database.ts"
import type { Job, Jobs, Outcome, QueueDefinition } from "../../kernel/jobs/jobs.ts"
import { type AccountMail, type AccountMailNeeds, sendAccountMail } from "./account-mail.ts"
import { type ResetRow, resetStore } from "./reset-store.ts"
import { accountStore } from "./store.ts"
import { newToken, tokenHash } from "./token.ts"

const QUEUE = "accounts.password_reset"
const TOKEN_PREFIX = "svc_reset_"
/** The token lasts an hour, so a mail that comes late is of no use. */
const RETRIES_MS = [30_000, 2 * 60_000, 10 * 60_000]

interface Payload {
  readonly resetId: string
}

/** On the transaction of the request. */
export const enqueueResetMail = (jobs: Jobs, tx: Db, { id }: ResetRow): Promise<void> =>
  jobs.enqueue(tx, { queue: QUEUE, payload: { resetId: id } satisfies Payload })

const resetMail = (baseUrl: string, token: string, expiresAt: Date): AccountMail => ({
  subject: "Set a new password",
  text: `Somebody, probably you, asked for a new password at ${baseUrl}. To set one, send this token:

    ${token}

together with the new password, to POST ${baseUrl}/v1/account/password/reset/confirm, or by:

    svc account confirm-password-reset <token> <password>

The token works once, until ${expiresAt.toUTCString()}. It signs you out everywhere.

If you have not asked for it, do nothing: your password stays as it is.
`,
})

/**
 * Whether there is an account is found out here and not in the request, whose answer takes as long for every address. An
 * address without an account gets no mail.
 */
export const resetMailQueue = (needs: AccountMailNeeds): QueueDefinition<Payload> => {
  const { db, clock, baseUrl } = needs
  const store = resetStore(db)

  const run = async ({ payload }: Job<Payload>): Promise<Outcome> => {
    const reset = await store.find(payload.resetId)
    if (!reset || reset.expires_at.getTime() <= clock.now()) return { kind: "done" }
    if (!(await accountStore(db).findUserByEmail(reset.email))) return { kind: "done" }
    // A new one at each attempt, so that no token is stored.
    const token = newToken(TOKEN_PREFIX)
    if (!(await store.setToken(reset.id, tokenHash(token)))) return { kind: "done" }
    return await sendAccountMail(needs, reset.email, resetMail(baseUrl, token, reset.expires_at))
  }

  return { name: QUEUE, concurrency: 4, retries: RETRIES_MS, run }
}
