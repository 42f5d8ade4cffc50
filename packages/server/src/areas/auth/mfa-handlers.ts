import { type areas, FACTORS_MAX } from "@svc/contract"
import { tokenHash } from "../../core/accounts/token.ts"
import { clearCodeAttempts, countCodeAttempt } from "../../core/credentials/attempts.ts"
import { showTotp } from "../../core/credentials/new-totp.ts"
import { checkTotp, newTotpSecret } from "../../core/credentials/totp.ts"
import type { AccountCall, Call } from "../../kernel/call.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Handlers } from "../../kernel/implement.ts"
import { addressBucket } from "../../kernel/stages/limit.ts"
import type { Caller, Context } from "./context.ts"
import {
  type FactorRow,
  factorStore,
  findFactor,
  findWaiting,
  findWaitingFrom,
  type WaitingRow,
} from "./factor-store.ts"
import { toFactor } from "./payloads.ts"
import { codeGuesses } from "./settling.ts"
import { checkBan, type Method, type SignIn } from "./sign-in.ts"
import { callerOf } from "./sign-in-handlers.ts"
import { sessionStore, userStore } from "./store.ts"
import { endUserOf, getUser, lockUser } from "./user-handlers.ts"

type Specs = typeof areas.auth.specs

const contextOf = (id: string) => `auth.factors:${id}`
const failed = () => fault("mfa_challenge_failed")

const isVerified = ({ status }: FactorRow) => status === "verified"

export const createCodes = ({ box, db }: Context) => ({
  /** Counts the attempt, which must outlive a refusal, and gives what checks the code in a transaction. */
  async attempt(factor: FactorRow | undefined, userId: string, code: string, now: Date) {
    await countCodeAttempt(db, codeGuesses(userId), now)
    if (!factor) throw failed()
    const sealed = await box.open(factor.organization_id, contextOf(factor.id), factor.secret)
    const secret = Buffer.from(sealed, "base64")
    return async (tx: Db): Promise<void> => {
      const store = factorStore(tx, factor.project_id)
      const accept = (step: number) => store.acceptStep(factor.id, step)
      if (!(await checkTotp({ secret, code, nowMs: now.getTime() }, accept))) throw failed()
      await clearCodeAttempts(tx, codeGuesses(userId))
    }
  },
})

/** Completes a sign-in that waited. */
const completing = (context: Context, signIn: SignIn) => {
  const { database } = context

  const callerFor = async (call: AccountCall, waiting: WaitingRow): Promise<Caller> => {
    const user = await userStore(call.db, waiting.project_id).find(waiting.user_id)
    if (!user) throw failed()
    call.describe({ tenantId: user.organization_id })
    const tenant = { organizationId: user.organization_id, projectId: user.project_id }
    return { tenant, ip: call.ip, userAgent: call.userAgent, now: call.now }
  }

  return async (call: AccountCall, waiting: WaitingRow, method: Method, check: (tx: Db) => Promise<void>) => {
    const caller = await callerFor(call, waiting)
    const signedIn = await database.transaction(async tx => {
      const user = await userStore(tx, waiting.project_id).findForUpdate(waiting.user_id)
      // Of two requests with the same sign-in one completes it.
      if (!user || !(await factorStore(tx, waiting.project_id).endWaiting(waiting.id))) throw failed()
      await check(tx)
      checkBan(user, call.now)
      const methods = [...(waiting.methods as Method[]), method]
      return await signIn.openSession(tx, caller, user, "aal2", methods)
    })
    if (signedIn.kind !== "session") throw new Error("a completed sign-in waits again")
    return await signIn.session(caller, signedIn)
  }
}

const checkWaiting = (waiting: WaitingRow | undefined, now: Date): WaitingRow => {
  if (!waiting) throw failed()
  if (waiting.expires_at <= now) throw fault("mfa_challenge_expired")
  return waiting
}

export const challengeHandlers = (
  context: Context,
  signIn: SignIn,
): Pick<Handlers<Specs>, "challenge" | "useRecoveryCode"> => {
  const { db, recoveryCodes } = context
  const codes = createCodes(context)
  const complete = completing(context, signIn)

  return {
    async challenge({ factor_id, code, mfa_token }, call) {
      const factor = await findFactor(db, factor_id)
      const found =
        mfa_token === undefined
          ? factor && (await findWaitingFrom(db, factor, addressBucket(call.ip)))
          : await findWaiting(db, tokenHash(mfa_token))
      const waiting = checkWaiting(found, call.now)
      const isOwn = factor && factor.user_id === waiting.user_id && isVerified(factor)
      const check = await codes.attempt(isOwn ? factor : undefined, waiting.user_id, code, call.now)
      return await complete(call, waiting, "otp", check)
    },

    async useRecoveryCode({ code, mfa_token }, call) {
      const waiting = checkWaiting(await findWaiting(db, tokenHash(mfa_token)), call.now)
      const { user_id: userId, project_id: projectId } = waiting
      await countCodeAttempt(db, codeGuesses(userId), call.now)
      return await complete(call, waiting, "recovery", async tx => {
        if (!(await factorStore(tx, projectId).useRecoveryCode(userId, recoveryCodes.hash(userId, code))))
          throw failed()
        await clearCodeAttempts(tx, codeGuesses(userId))
      })
    },
  }
}

/** What weakens or replaces second factors needs one, where the user has one. */
const checkLevel = (call: Call, factors: readonly FactorRow[]): void => {
  if (factors.some(isVerified) && endUserOf(call).level !== "aal2") throw failed()
}

export const factorHandlers = (
  context: Context,
  signIn: SignIn,
): Pick<
  Handlers<Specs>,
  "enroll" | "verifyFactor" | "listFactors" | "deleteFactor" | "createRecoveryCodes"
> => {
  const { database, box, projectSettings, recoveryCodes, userChanged } = context
  const codes = createCodes(context)

  const addFactor = (call: Call, row: FactorRow) =>
    database.transaction(async tx => {
      const user = await lockUser(tx, call)
      const store = factorStore(tx, user.project_id)
      const factors = await store.list(user.id)
      checkLevel(call, factors)
      const named = factors.find(factor => factor.friendly_name === row.friendly_name)
      if (named && isVerified(named)) throw fault("factor_name_taken")
      // An enrollment that was not completed is begun anew.
      if (named) await store.delete(user.id, named.id)
      else if (factors.length >= FACTORS_MAX)
        throw fault("invalid_parameter", { reason: `a user has at most ${FACTORS_MAX} second factors` })
      await store.insert(row)
    })

  return {
    async enroll({ friendly_name }, call) {
      const user = await getUser(call)
      const id = newId(call.now.getTime())
      const secret = newTotpSecret()
      await addFactor(call, {
        id,
        project_id: user.project_id,
        organization_id: user.organization_id,
        user_id: user.id,
        friendly_name,
        status: "unverified",
        secret: await box.seal(user.organization_id, contextOf(id), secret.toString("base64")),
        last_used_step: null,
        created_at: call.now,
      })
      const { name: issuer } = await projectSettings.of(user.project_id)
      const totp = await showTotp({ secret, issuer, account: user.email ?? user.id })
      return { factor_id: id, factor_type: "totp", friendly_name, totp }
    },

    async verifyFactor({ factor_id, code }, call) {
      const caller = callerOf(call)
      const { projectId } = caller.tenant
      const { id: userId, sessionId } = endUserOf(call)
      const factors = await factorStore(call.db, projectId).list(userId)
      const factor = factors.find(({ id }) => id === factor_id)
      const check = await codes.attempt(factor, userId, code, call.now)
      const signedIn = await database.transaction(async tx => {
        const user = await lockUser(tx, call)
        const store = factorStore(tx, projectId)
        const before = await store.list(userId)
        const isNew = !before.some(one => one.id === factor_id && isVerified(one))
        // Else a stolen session could add a factor of its own beside the user's.
        if (isNew) checkLevel(call, before)
        await check(tx)
        await store.verify(factor_id)
        const sessions = sessionStore(tx, projectId)
        const session = await sessions.findForUpdate(sessionId)
        if (!session) throw fault("token_invalid")
        const methods = [...new Set([...session.methods, "otp"])]
        const change = { level: "aal2", methods, number: session.number + 1, numbered_at: call.now }
        await sessions.update(sessionId, change)
        if (isNew) await sessions.deleteOthers(userId, sessionId)
        await userChanged(tx, userId)
        const all = await store.list(userId)
        return { kind: "session", user, session: { ...session, ...change }, factors: all } as const
      })
      return { factor_id, status: "verified", ...(await signIn.session(caller, signedIn)) }
    },

    async listFactors(_input, call) {
      const rows = await factorStore(call.db, call.projectTenant.projectId).list(endUserOf(call).id)
      return { factors: rows.map(toFactor) }
    },

    async deleteFactor({ id }, call) {
      await database.transaction(async tx => {
        const user = await lockUser(tx, call)
        const store = factorStore(tx, user.project_id)
        const factors = await store.list(user.id)
        const factor = factors.find(one => one.id === id)
        if (!factor) throw fault("factor_not_found", { id })
        if (isVerified(factor)) checkLevel(call, factors)
        await store.delete(user.id, id)
        if (!factors.some(one => one.id !== id && isVerified(one))) await store.setRecoveryCodes(user.id, [])
      })
      return { id }
    },

    async createRecoveryCodes(_input, call) {
      if (endUserOf(call).level !== "aal2") throw failed()
      const made = recoveryCodes.make(endUserOf(call).id)
      await database.transaction(async tx => {
        const user = await lockUser(tx, call)
        await factorStore(tx, user.project_id).setRecoveryCodes(user.id, made.hashes)
      })
      return { codes: made.codes }
    },
  }
}
