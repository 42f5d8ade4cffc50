import type { areas } from "@svc/contract"
import { checkPassword } from "../../core/accounts/rules.ts"
import { passwordCounts } from "../../core/credentials/attempts.ts"
import { provePassword } from "../../core/credentials/prove-password.ts"
import { judgeToken } from "../../core/secrets/numbered-tokens.ts"
import type { Call } from "../../kernel/call.ts"
import { type Db, isUniqueViolation } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Handlers } from "../../kernel/implement.ts"
import { addressBucket } from "../../kernel/stages/limit.ts"
import type { Caller, Context } from "./context.ts"
import { factorStore } from "./factor-store.ts"
import { proofOf, type UserProof } from "./imported-proof.ts"
import { endUserHash } from "./mail-store.ts"
import { checkRedirect, requestMail } from "./mails.ts"
import { toUser } from "./payloads.ts"
import { mergeMetadata } from "./rules.ts"
import { checkBan, type SignedIn, type SignIn } from "./sign-in.ts"
import { type SessionRow, sessionStore, type UserRow, userStore } from "./store.ts"

type Specs = typeof areas.auth.specs

export const callerOf = (call: Call): Caller => ({
  tenant: call.projectTenant,
  ip: call.ip,
  userAgent: call.userAgent,
  now: call.now,
})

/** A row of a user who is not there yet. */
export const newUser = (
  { tenant, now }: Pick<Caller, "tenant" | "now">,
  facts: Pick<UserRow, "email" | "password_hash" | "signup_source" | "user_metadata"> & Partial<UserRow>,
): UserRow => ({
  id: newId(now.getTime()),
  organization_id: tenant.organizationId,
  project_id: tenant.projectId,
  email_confirmed_at: null,
  is_anonymous: false,
  app_metadata: {},
  banned_until: null,
  last_sign_in_at: null,
  created_at: now,
  updated_at: now,
  ...facts,
})

/** Throws `conflict` where the address has a user. */
export const insertUser = async (tx: Db, row: UserRow): Promise<void> => {
  try {
    await userStore(tx, row.project_id).insert(row)
  } catch (error) {
    if (isUniqueViolation(error, "users_email"))
      throw fault("conflict", { reason: "this e-mail address has a user" })
    throw error
  }
}

/** Checks the password of a user, or of nobody. Throws `invalid_credentials` and `account_locked`. */
export const proveEndUser = async (
  context: Context,
  { tenant, ip, now }: Caller,
  attempt: { readonly email: string; readonly user: UserRow | undefined; readonly password: string },
  isSignedIn = false,
): Promise<UserProof> => {
  const { db } = context
  const { email, user, password } = attempt
  const source = addressBucket(ip)
  const isKnown = (await userStore(db, tenant.projectId).isKnownSource(user?.id, source)) || isSignedIn
  const counts = passwordCounts(endUserHash(tenant.projectId, email), source, isKnown)
  const proof = await proofOf(context, db, tenant.projectId, user)
  await provePassword({ db, passwords: proof, hash: user?.password_hash ?? undefined, password, counts, now })
  return proof
}

/** The address waits for its owner. A sign-up that nobody has used yet is replaced by a later one. */
const signUpUnconfirmed = async (tx: Db, user: UserRow): Promise<UserRow> => {
  const users = userStore(tx, user.project_id)
  const known = user.email === null ? undefined : await users.findByEmail(user.email)
  if (!known) {
    await users.insert(user)
    return user
  }
  const { password_hash, signup_source, user_metadata, updated_at } = user
  if (!known.email_confirmed_at && !known.last_sign_in_at && known.signup_source !== null)
    await users.update(known.id, { password_hash, signup_source, user_metadata, updated_at })
  // Made up, with an id of its own, as it would be for an address without a user.
  return user
}

const refreshed = (row: SessionRow, now: Date, idleSeconds: number): Partial<SessionRow> => ({
  number: row.number + 1,
  numbered_at: now,
  idle_until: new Date(now.getTime() + idleSeconds * 1000),
})

const isOver = ({ idle_until, expires_at }: SessionRow, now: Date) => idle_until <= now || expires_at <= now

type Refreshed = Extract<SignedIn, { kind: "session" }>

/** The next token of a session. A token that somebody else has too ends the session; that must outlive the refusal. */
const refreshIn = async (
  { refreshTokens, projectSettings, userChanged }: Context,
  tx: Db,
  { tenant, now }: Caller,
  token: string,
): Promise<Refreshed | "invalid" | "reused"> => {
  const { projectId } = tenant
  const read = refreshTokens.read(token)
  const sessions = sessionStore(tx, projectId)
  const session = read && (await sessions.findForUpdate(read.family))
  const user = session && (await userStore(tx, projectId).find(session.user_id))
  if (!read || !session || !user || isOver(session, now)) return "invalid"
  checkBan(user, now)
  const judged = judgeToken(read, session, now.getTime())
  if (judged === "reused") {
    await sessions.delete(user.id, session.id)
    await userChanged(tx, user.id)
    return "reused"
  }
  const factors = await factorStore(tx, projectId).list(user.id)
  if (judged === "repeated") return { kind: "session", user, session, factors }
  const { session_idle_seconds } = await projectSettings.of(projectId)
  const change = refreshed(session, now, session_idle_seconds)
  await sessions.update(session.id, change)
  await userChanged(tx, user.id)
  return { kind: "session", user, session: { ...session, ...change }, factors }
}

/** Undefined: the password was replaced while this attempt was on its way. */
const logIn = async (
  context: Context,
  signIn: SignIn,
  caller: Caller,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<SignedIn | undefined> => {
  const { database, db, projectSettings } = context
  const { projectId } = caller.tenant
  const user = await userStore(db, projectId).findByEmail(email)
  const proof = await proveEndUser(context, caller, { email, user, password })
  const replacement = await proof.replacement(password)
  const { confirm_email } = await projectSettings.of(projectId)
  return await database.transaction(async tx => {
    const users = userStore(tx, projectId)
    const locked = user && (await users.findForUpdate(user.id))
    if (!locked || locked.password_hash !== user.password_hash) return undefined
    if (confirm_email && !locked.email_confirmed_at) throw fault("email_not_confirmed")
    if (replacement !== undefined) await users.update(locked.id, { password_hash: replacement })
    return await signIn.begin(tx, caller, locked, ["pwd"])
  })
}

export const signInHandlers = (
  context: Context,
  signIn: SignIn,
): Pick<Handlers<Specs>, "signup" | "anonymous" | "login" | "refresh"> => {
  const { database, passwords, projectSettings } = context

  return {
    async signup({ email, password, data, redirect_to }, call) {
      const caller = callerOf(call)
      const settings = await projectSettings.of(caller.tenant.projectId)
      if (settings.signup !== "open") throw fault("signup_disabled")
      await checkRedirect(context, caller, redirect_to)
      checkPassword(password, email, settings.password_length_min)
      const user = newUser(caller, {
        email,
        // Before the address is looked at, so that a taken one costs the same.
        password_hash: await passwords.hash(password),
        signup_source: addressBucket(call.ip),
        user_metadata: mergeMetadata("data", {}, data),
      })
      if (!settings.confirm_email) {
        const signedIn = await database.transaction(async tx => {
          await insertUser(tx, user)
          return await signIn.openSession(tx, caller, user, "aal1", ["pwd"])
        })
        return await signIn.session(caller, signedIn as Refreshed)
      }
      const shown = await database.transaction(async tx => {
        await requestMail(context, tx, caller, { kind: "signup", email, redirectTo: redirect_to })
        return await signUpUnconfirmed(tx, user)
      })
      return { user: toUser(shown, []), confirmation_sent_at: call.now.toISOString() }
    },

    async anonymous({ data }, call) {
      const caller = callerOf(call)
      const { anonymous, signup } = await projectSettings.of(caller.tenant.projectId)
      if (!anonymous || signup !== "open") throw fault("signup_disabled")
      const user = newUser(caller, {
        email: null,
        is_anonymous: true,
        password_hash: null,
        signup_source: addressBucket(call.ip),
        user_metadata: mergeMetadata("data", {}, data),
      })
      const signedIn = await database.transaction(async tx => {
        await insertUser(tx, user)
        return await signIn.openSession(tx, caller, user, "aal1", ["anonymous"])
      })
      return await signIn.session(caller, signedIn as Refreshed)
    },

    async login(attempt, call) {
      const caller = callerOf(call)
      const signedIn =
        (await logIn(context, signIn, caller, attempt)) ??
        // By a new password, or by our hash of the same one at a sign-in beside this one: only a second look tells.
        (await logIn(context, signIn, caller, attempt))
      if (!signedIn) throw fault("invalid_credentials")
      return await signIn.reply(caller, signedIn)
    },

    async refresh({ refresh_token }, call) {
      const caller = callerOf(call)
      const outcome = await database.transaction(tx => refreshIn(context, tx, caller, refresh_token))
      if (outcome === "invalid") throw fault("refresh_token_invalid")
      if (outcome === "reused") throw fault("refresh_token_reused")
      return await signIn.session(caller, outcome)
    },
  }
}
