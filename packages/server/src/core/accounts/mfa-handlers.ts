import { type areas, FACTORS_MAX, type Output } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Handlers } from "../../kernel/implement.ts"
import { showTotp } from "../credentials/new-totp.ts"
import { newTotpSecret } from "../credentials/totp.ts"
import { type FactorRow, factorStore, waitingStore } from "./factor-store.ts"
import { clearFailures } from "./proof.ts"
import {
  challengeFailed,
  contextOf,
  type FactorNeeds,
  getWaiting,
  isVerified,
  type SecondFactor,
} from "./second-factor.ts"
import { type SignIn, userTarget } from "./sign-in.ts"
import { getUser, lockUser, sessionIdOf } from "./signed-in-user.ts"
import { checkStepUp } from "./step-up.ts"
import { accountStore } from "./store.ts"

type Specs = typeof areas.account.specs
type FactorPayload = Output<Specs["listFactors"]>["factors"][number]

export const toFactor = ({ id, friendly_name, status, created_at }: FactorRow): FactorPayload => ({
  id,
  type: "totp",
  friendly_name,
  status: status === "verified" ? "verified" : "unverified",
  created_at: created_at.toISOString(),
})

interface Needs extends FactorNeeds {
  readonly baseUrl: string
  readonly signIn: SignIn
  readonly secondFactor: SecondFactor
}

export const mfaHandlers = (
  needs: Needs,
): Pick<
  Handlers<Specs>,
  "enrollFactor" | "verifyFactor" | "challenge" | "listFactors" | "deleteFactor" | "createRecoveryCodes"
> => {
  const { box, recoveryCodes, baseUrl, signIn, secondFactor } = needs
  const issuer = `Svc ${new URL(baseUrl).host}`

  const addFactor = (call: Call, row: Omit<FactorRow, "user_id">) =>
    call.db.transaction().execute(async tx => {
      const { id: userId } = await lockUser(call, tx)
      const store = factorStore(tx, userId)
      const factors = await store.list()
      const named = factors.find(factor => factor.friendly_name === row.friendly_name)
      if (named && isVerified(named)) throw fault("factor_name_taken")
      // An enrollment that was not completed is begun anew.
      if (named) await store.delete(named.id)
      else if (factors.length >= FACTORS_MAX)
        throw fault("invalid_parameter", { reason: `a person has at most ${FACTORS_MAX} second factors` })
      await store.insert(row)
    })

  return {
    async enrollFactor({ friendly_name }, call) {
      checkStepUp(call)
      const user = await getUser(call)
      const id = newId(call.now.getTime())
      const secret = newTotpSecret()
      await addFactor(call, {
        id,
        friendly_name,
        status: "unverified",
        secret: await box.seal(user.id, contextOf(id), secret.toString("base64")),
        last_used_step: null,
        created_at: call.now,
      })
      call.describe({ targets: [{ type: "factor", id, name: friendly_name }] })
      const totp = await showTotp({ secret, issuer, account: user.email })
      return { factor_id: id, factor_type: "totp", friendly_name, totp }
    },

    async verifyFactor({ factor_id, code }, call) {
      checkStepUp(call)
      const { db, now } = call
      const { id: userId } = await getUser(call)
      const factor = (await factorStore(db, userId).list()).find(({ id }) => id === factor_id)
      if (!factor) throw fault("factor_not_found", { id: factor_id })
      call.describe({ targets: [{ type: "factor", id: factor_id, name: factor.friendly_name }] })
      const accept = await secondFactor.ofFactor({ db, userId, code, now }, factor)
      const made = recoveryCodes.make(userId)
      const isFirst = await db.transaction().execute(async tx => {
        const { mfa_enabled } = await lockUser(call, tx)
        await accept(tx)
        await factorStore(tx, userId).verify(factor_id)
        if (!mfa_enabled) {
          await factorStore(tx, userId).setRecoveryCodes(made.hashes)
          await accountStore(tx).updateUser(userId, { mfa_enabled: true })
        }
        // They were opened without it.
        await accountStore(tx).deleteOtherSessions(userId, sessionIdOf(call))
        return !mfa_enabled
      })
      return { factor_id, status: "verified", recovery_codes: isFirst ? made.codes : null }
    },

    async challenge({ mfa_token, code }, call) {
      const { db, ip, now } = call
      const waiting = await getWaiting(db, mfa_token, now)
      const userId = waiting.user_id
      call.describe({
        action: "auth_mfa_failed",
        tenantId: userId,
        targets: [{ type: "user", id: userId }],
      })
      const accept = await secondFactor.ofPerson({ db, userId, code, now })
      const signedIn = await db.transaction().execute(async tx => {
        const user = await accountStore(tx).findUserForUpdate(userId)
        // Of two requests with the same sign-in one completes it.
        if (!user || !(await waitingStore(tx).end(waiting.id))) throw challengeFailed()
        await accept(tx)
        call.describe({ targets: [userTarget(user)] })
        await clearFailures(tx, user, ip, now)
        return await signIn(call, tx, user)
      })
      call.describe({ action: "auth_login" })
      return signedIn
    },

    async listFactors(_input, { db, principal }) {
      const store = factorStore(db, principal.id)
      const factors = (await store.list()).map(toFactor)
      return { factors, recovery_codes_left: await store.countRecoveryCodes() }
    },

    async deleteFactor({ id }, call): Promise<undefined> {
      checkStepUp(call)
      await call.db.transaction().execute(async tx => {
        const { id: userId } = await lockUser(call, tx)
        const store = factorStore(tx, userId)
        if (!(await store.delete(id))) throw fault("factor_not_found", { id })
        if ((await store.list()).some(isVerified)) return
        await store.setRecoveryCodes([])
        await accountStore(tx).updateUser(userId, { mfa_enabled: false })
      })
      call.describe({ targets: [{ type: "factor", id }] })
    },

    async createRecoveryCodes(_input, call) {
      checkStepUp(call)
      const made = recoveryCodes.make(call.principal.id)
      await call.db.transaction().execute(async tx => {
        const { id, mfa_enabled } = await lockUser(call, tx)
        if (!mfa_enabled) throw challengeFailed()
        await factorStore(tx, id).setRecoveryCodes(made.hashes)
      })
      return { codes: made.codes }
    },
  }
}
