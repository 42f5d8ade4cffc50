import { type areas, reply } from "@svc/contract"
import type { AccountCall } from "../../kernel/call.ts"
import { type Db, isUniqueViolation } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Handlers } from "../../kernel/implement.ts"
import type { Jobs } from "../../kernel/jobs/jobs.ts"
import { addressBucket } from "../../kernel/stages/limit.ts"
import { accountHash } from "../credentials/failure-store.ts"
import { checkMailLimits } from "../credentials/mail-limits.ts"
import { getOpenInvitation } from "../organizations/invitation-handlers.ts"
import { foundOrganization } from "../organizations/service.ts"
import type { Passwords } from "./passwords.ts"
import { clearFailures } from "./proof.ts"
import { checkPassword, SIGNUP_LIFETIME_MS } from "./rules.ts"
import { type SignIn, userTarget } from "./sign-in.ts"
import { enqueueSignupMail } from "./signup-mail.ts"
import { type SignupRow, signupStore } from "./signup-store.ts"
import { accountStore, type UserRow } from "./store.ts"
import { tokenHash } from "./token.ts"

type Specs = typeof areas.account.specs

const NAME_LENGTH_MAX = 64

export interface SignupNeeds {
  readonly passwords: Passwords
  readonly signup: "open" | "closed"
  readonly signIn: SignIn
  /** Undefined if this installation sends no mail, so that addresses cannot be confirmed. */
  readonly mailJobs: (() => Jobs) | undefined
}

interface NewAccount {
  readonly email: string
  readonly name: string
  readonly passwordHash: string
  readonly organizationName: string
}

export const signupHandlers = (needs: SignupNeeds): Pick<Handlers<Specs>, "signup" | "verifyEmail"> => {
  const { passwords, signup, signIn, mailJobs } = needs

  /** The user and their organization, signed in; `end` is done in the same transaction. */
  const createAccount = async (
    { email, name, passwordHash, organizationName }: NewAccount,
    call: AccountCall,
    end: (tx: Db) => Promise<void> = async () => undefined,
  ) => {
    const { db, now } = call
    const user: UserRow = {
      id: newId(now.getTime()),
      email,
      name,
      password_hash: passwordHash,
      mfa_enabled: false,
      created_at: now,
    }
    try {
      const signedIn = await db.transaction().execute(async tx => {
        await end(tx)
        await accountStore(tx).insertUser(user)
        await clearFailures(tx, user, call.ip, now)
        await foundOrganization(tx, { name: organizationName, userId: user.id, plan: "free", now })
        return await signIn(call, tx, user)
      })
      call.describe({ tenantId: user.id, targets: [userTarget(user)] })
      return signedIn
    } catch (error) {
      if (isUniqueViolation(error, "users_email"))
        throw fault("conflict", { reason: "this e-mail address has an account" })
      throw error
    }
  }

  const requestConfirmation = async (
    account: NewAccount,
    invitationHash: Buffer | null,
    jobs: Jobs,
    call: AccountCall,
  ) => {
    const { db, now } = call
    const row: SignupRow = {
      id: newId(now.getTime()),
      account: accountHash(account.email),
      source: addressBucket(call.ip),
      email: account.email,
      name: account.name,
      organization_name: account.organizationName,
      password_hash: account.passwordHash,
      token_hash: null,
      invitation_hash: invitationHash,
      attempts: 0,
      created_at: now,
      expires_at: new Date(now.getTime() + SIGNUP_LIFETIME_MS),
    }
    await db.transaction().execute(async tx => {
      await signupStore(tx).lock()
      await checkMailLimits(signupStore(tx).timeOf, row)
      await signupStore(tx).insert(row)
      await enqueueSignupMail(jobs, tx, row)
    })
    return { email: row.email, expires_at: row.expires_at.toISOString() }
  }

  return {
    signup: async ({ email, password, invitation_token, ...input }, call) => {
      const invitationHash = invitation_token === undefined ? null : tokenHash(invitation_token)
      if (invitationHash)
        await getOpenInvitation(call.db, { tokenHash: invitationHash, email, now: call.now })
      else if (signup === "closed") throw fault("signup_disabled")
      checkPassword(password, email)
      const name = input.name ?? email.split("@", 1)[0]?.slice(0, NAME_LENGTH_MAX) ?? email
      const account: NewAccount = {
        email,
        name,
        // Before the address is looked at, so that a taken one costs the same.
        passwordHash: await passwords.hash(password),
        organizationName: input.organization_name ?? `${name}'s organization`.slice(0, NAME_LENGTH_MAX),
      }
      if (!mailJobs) return reply(201, await createAccount(account, call))
      return reply(200, await requestConfirmation(account, invitationHash, mailJobs(), call))
    },

    // The password is asked for once more: who reads the mail but did not sign up must not give a stranger, who knows the
    // password, an account in their name.
    verifyEmail: async ({ token, password }, call) => {
      const { db, now } = call
      const row = await signupStore(db).attempt(tokenHash(token), now)
      if (!row || row.password_hash === null) throw fault("token_invalid_or_expired")
      if (!(await passwords.verify(password, row.password_hash))) throw fault("invalid_credentials")
      const { email, name, password_hash: passwordHash, organization_name: organizationName } = row
      if (signup === "closed") {
        if (!row.invitation_hash) throw fault("signup_disabled")
        await getOpenInvitation(db, { tokenHash: row.invitation_hash, email, now })
      }
      return await createAccount({ email, name, passwordHash, organizationName }, call, async tx => {
        if (!(await signupStore(tx).end(row.id))) throw fault("token_invalid_or_expired")
      })
    },
  }
}
