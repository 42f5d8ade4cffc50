import { areas, MFA_WAIT_SECONDS, type Output } from "@svc/contract"
import type { AccountCall, Call } from "../../kernel/call.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { implement } from "../../kernel/implement.ts"
import { accountHash } from "../credentials/failure-store.ts"
import type { TenantKeys } from "../secrets/tenant-keys.ts"
import { createSessionCookie } from "./cookie.ts"
import { dataHandlers } from "./data-handlers.ts"
import { factorStore } from "./factor-store.ts"
import { mfaHandlers } from "./mfa-handlers.ts"
import { clearFailures, proveIdentity } from "./proof.ts"
import { resetHandlers } from "./reset-handlers.ts"
import { resetStore } from "./reset-store.ts"
import { checkPassword, isLive } from "./rules.ts"
import { beginWaiting, createSecondFactor, endWaits, type FactorNeeds, isVerified } from "./second-factor.ts"
import { toSession } from "./session-payload.ts"
import { createSignIn, toUser, userTarget } from "./sign-in.ts"
import { getUser, sessionIdOf } from "./signed-in-user.ts"
import { type SignupNeeds, signupHandlers } from "./signup-handlers.ts"
import { checkStepUp } from "./step-up.ts"
import { accountStore, type UserRow } from "./store.ts"

type Specs = typeof areas.account.specs

/** The password was changed while this attempt was on its way: what it proved is no longer the password. */
const settleProof = async (tx: Db, user: UserRow): Promise<UserRow> => {
  const settled = await accountStore(tx).findWithPassword(user)
  if (!settled) throw fault("invalid_credentials")
  return settled
}

const attemptOf = (user: UserRow, { db, ip, now }: Call) => ({
  db,
  user,
  email: user.email,
  ip,
  isSignedIn: true,
  now,
})

interface Needs extends Omit<SignupNeeds, "signIn">, FactorNeeds {
  readonly baseUrl: string
  readonly tenantKeys: Pick<TenantKeys, "erase">
}

// Hashing takes a while and may have to queue. Whatever hashes runs outside the pipeline's transaction, so that a wave of
// sign-ins cannot hold every database connection, and so that counted failures outlive the refusal.
export const accountHandlers = implement(areas.account, (needs: Needs) => {
  const { passwords, baseUrl, signup, mailJobs, box, recoveryCodes } = needs
  const cookie = createSessionCookie(baseUrl)

  const signIn = createSignIn(cookie)
  const secondFactor = createSecondFactor({ box, recoveryCodes })

  /** A session, or with a second factor the wait for it. The place is remembered once the sign-in is complete. */
  const beginSignIn = async (call: AccountCall, tx: Db, user: UserRow): Promise<Output<Specs["login"]>> => {
    const { ip, now } = call
    if (!user.mfa_enabled) {
      await clearFailures(tx, user, ip, now)
      return await signIn(call, tx, user)
    }
    const factors = await factorStore(tx, user.id).list()
    return {
      mfa_required: true,
      factors: factors
        .filter(isVerified)
        .map(({ id, friendly_name }) => ({ id, type: "totp", friendly_name })),
      mfa_token: await beginWaiting(tx, user.id, now),
      expires_in: MFA_WAIT_SECONDS,
    }
  }

  return {
    ...signupHandlers({ passwords, signup, signIn, mailJobs }),
    ...resetHandlers({ passwords, mailJobs }),
    ...dataHandlers({ tenantKeys: needs.tenantKeys, clearedCookie: cookie.cleared }),
    ...mfaHandlers({ box, recoveryCodes, baseUrl, signIn, secondFactor }),

    login: async ({ email, password }, call) => {
      const { db, ip, now } = call
      const user = await accountStore(db).findUserByEmail(email)
      if (user) call.describe({ action: "auth_login_failed", tenantId: user.id, targets: [userTarget(user)] })
      const proven = await proveIdentity({ db, passwords, email, user, password, ip, now })
      const answer = await db
        .transaction()
        .execute(async tx => await beginSignIn(call, tx, await settleProof(tx, proven)))
      call.describe({ action: answer.mfa_required ? "auth_password_accepted" : "auth_login" })
      return answer
    },

    reauthenticate: async ({ password, code }, call) => {
      const { db, ip, now } = call
      const user = await getUser(call)
      call.describe({ action: "auth_login_failed", targets: [userTarget(user)] })
      if (user.mfa_enabled && code === undefined) throw fault("missing_parameter", { field: "code" })
      await proveIdentity({ ...attemptOf(user, call), passwords, password })
      const accept =
        user.mfa_enabled && code !== undefined
          ? await secondFactor.ofPerson({ db, userId: user.id, code, now })
          : async () => undefined
      await db.transaction().execute(async tx => {
        await clearFailures(tx, await settleProof(tx, user), ip, now)
        await accept(tx)
        await accountStore(tx).updateSession(sessionIdOf(call), { authenticated_at: now })
      })
      call.describe({ action: "auth_login" })
      return { authenticated_at: now.toISOString() }
    },

    async logout(_input, call): Promise<undefined> {
      await accountStore(call.db).deleteSession(call.principal.id, sessionIdOf(call))
      call.setHeader("set-cookie", cookie.cleared)
    },

    async get(_input, call) {
      return toUser(await getUser(call))
    },

    update: async ({ name, password, current_password }, call) => {
      const { db, ip, now } = call
      const user = await getUser(call)
      const change: Partial<UserRow> = name === undefined ? {} : { name }
      if (password !== undefined) {
        if (current_password === undefined) throw fault("missing_parameter", { field: "current_password" })
        // Else the password alone would do what takes a second factor: prove who is there.
        if (user.mfa_enabled) checkStepUp(call)
        checkPassword(password, user.email)
        await proveIdentity({ ...attemptOf(user, call), passwords, password: current_password })
        change.password_hash = await passwords.hash(password)
      }
      await db.transaction().execute(async tx => {
        if (change.password_hash !== undefined) {
          await clearFailures(tx, await settleProof(tx, user), ip, now)
          await endWaits(tx, user.id)
          // A mail, or the link of the first start, that could still set another one.
          await resetStore(tx).endAll(accountHash(user.email))
          await accountStore(tx).deleteOtherSessions(user.id, sessionIdOf(call))
          if (!user.mfa_enabled)
            await accountStore(tx).updateSession(sessionIdOf(call), { authenticated_at: now })
        }
        if (Object.keys(change).length > 0) await accountStore(tx).updateUser(user.id, change)
      })
      const fields = [
        ...(name === undefined ? [] : ["name"]),
        ...(password === undefined ? [] : ["password"]),
      ]
      call.describe({ targets: [userTarget(user)], metadata: { fields } })
      return toUser({ ...user, ...change })
    },

    async listSessions(_input, { db, principal, now }) {
      const rows = await accountStore(db).listSessions(principal.id)
      const live = rows.filter(row => isLive(row, now.getTime()))
      return { sessions: live.map(row => toSession(row, principal.session?.id)) }
    },

    async endSession({ id }, call): Promise<undefined> {
      const { db, principal } = call
      if (!(await accountStore(db).deleteSession(principal.id, id))) throw fault("resource_not_found")
      if (id === principal.session?.id) call.setHeader("set-cookie", cookie.cleared)
      call.describe({ targets: [{ type: "session", id }] })
    },
  }
})
