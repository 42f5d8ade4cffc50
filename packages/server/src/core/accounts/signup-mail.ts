/** Mails to addresses of sign-ups. */
import type { Db } from "../../kernel/db/database.ts"
import type { Job, Jobs, Outcome, QueueDefinition } from "../../kernel/jobs/jobs.ts"
import { type AccountMail, type AccountMailNeeds, sendAccountMail } from "./account-mail.ts"
import { type SignupRow, signupStore } from "./signup-store.ts"
import { accountStore } from "./store.ts"
import { newToken, tokenHash } from "./token.ts"

const QUEUE = "accounts.signup"
const TOKEN_PREFIX = "svc_verify_"
/** The last attempt leaves most of a day to the token. */
const RETRIES_MS = [60_000, 5 * 60_000, 30 * 60_000, 3_600_000, 3 * 3_600_000]

interface Payload {
  readonly signupId: string
}

/** On the transaction of the sign-up. */
export const enqueueSignupMail = (jobs: Jobs, tx: Db, { id }: SignupRow): Promise<void> =>
  jobs.enqueue(tx, { queue: QUEUE, payload: { signupId: id } satisfies Payload })

// Nothing that the sender of the sign-up wrote is in these mails: else anybody could mail anything to anybody.
const confirmation = (baseUrl: string, token: string, expiresAt: Date): AccountMail => ({
  subject: "Confirm your e-mail address",
  text: `Somebody, probably you, signs up at ${baseUrl} with this address. To confirm that it is yours, send this token:

    ${token}

together with the password that you have chosen, to POST ${baseUrl}/v1/account/verify-email, or by:

    svc account verify-email <token> <password>

The token works once, until ${expiresAt.toUTCString()}.

If you have not signed up, do nothing: without the token there will be no account.
`,
})

const known = (baseUrl: string): AccountMail => ({
  subject: "You have an account already",
  text: `Somebody, perhaps you, tried to sign up at ${baseUrl} with this address, which has an account already.

If it was you, sign in with your password: POST ${baseUrl}/v1/account/login.

If it was not, do nothing: nothing has changed, and the sender was not told that you have an account.
`,
})

/**
 * Which mail it is, is found out here and not in the request: its answer takes as long for an address that has an account
 * as for any other.
 */
export const signupMailQueue = (needs: AccountMailNeeds): QueueDefinition<Payload> => {
  const { db, clock, baseUrl } = needs
  const store = signupStore(db)

  const messageFor = async ({ id, email, expires_at }: SignupRow) => {
    if (await accountStore(db).findUserByEmail(email)) {
      await store.end(id)
      return known(baseUrl)
    }
    // A new one at each attempt, so that no token is stored.
    const token = newToken(TOKEN_PREFIX)
    await store.setToken(id, tokenHash(token))
    return confirmation(baseUrl, token, expires_at)
  }

  const run = async ({ payload }: Job<Payload>): Promise<Outcome> => {
    const signup = await store.find(payload.signupId)
    if (!signup || signup.expires_at.getTime() <= clock.now()) return { kind: "done" }
    return await sendAccountMail(needs, signup.email, await messageFor(signup))
  }

  return { name: QUEUE, concurrency: 4, retries: RETRIES_MS, run }
}
