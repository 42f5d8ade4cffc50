/** Proves a second factor of a person by a code. */
import { MFA_WAIT_SECONDS } from "@svc/contract"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { clearCodeAttempts, countCodeAttempt } from "../credentials/attempts.ts"
import { guessedHash } from "../credentials/failure-store.ts"
import type { RecoveryCodes } from "../credentials/recovery-codes.ts"
import { matchingStep } from "../credentials/totp.ts"
import type { SecretBox } from "../secrets/secret-box.ts"
import { type FactorRow, factorStore, type WaitingRow, waitingStore } from "./factor-store.ts"
import { newToken, tokenHash } from "./token.ts"

const WAITING_PREFIX = "svc_mfa_"

export interface FactorNeeds {
  readonly box: SecretBox
  readonly recoveryCodes: RecoveryCodes
}

/** Codes of authenticators and recovery codes of a person count together. */
export const codeGuesses = (userId: string): Buffer => guessedHash("account.codes", userId)

export const contextOf = (id: string): string => `account.factors:${id}`

export const isVerified = ({ status }: FactorRow): boolean => status === "verified"

export const challengeFailed = () => fault("mfa_challenge_failed")

export interface CodeAttempt {
  readonly db: Db
  readonly userId: string
  readonly code: string
  readonly now: Date
}

/** Accepts the code in the transaction of what it proves; throws `mfa_challenge_failed`. */
export type AcceptCode = (tx: Db) => Promise<void>

/** Each counts the attempt at once, because it must outlive a refusal. */
export const createSecondFactor = ({ box, recoveryCodes }: FactorNeeds) => {
  const stepOf = async (factor: FactorRow, { code, now }: CodeAttempt) => {
    const sealed = await box.open(factor.user_id, contextOf(factor.id), factor.secret)
    return matchingStep(Buffer.from(sealed, "base64"), code, now.getTime())
  }

  const acceptStep = async (tx: Db, factor: FactorRow, step: number | undefined): Promise<boolean> =>
    step !== undefined && (await factorStore(tx, factor.user_id).acceptStep(factor.id, step))

  return {
    /** A code of this authenticator. */
    async ofFactor(attempt: CodeAttempt, factor: FactorRow): Promise<AcceptCode> {
      const { db, userId, now } = attempt
      await countCodeAttempt(db, codeGuesses(userId), now)
      const step = await stepOf(factor, attempt)
      return async tx => {
        if (!(await acceptStep(tx, factor, step))) throw challengeFailed()
        await clearCodeAttempts(tx, codeGuesses(userId))
      }
    },

    /** A code of any authenticator of the person, or a recovery code. */
    async ofPerson(attempt: CodeAttempt): Promise<AcceptCode> {
      const { db, userId, code, now } = attempt
      await countCodeAttempt(db, codeGuesses(userId), now)
      const factors = (await factorStore(db, userId).list()).filter(isVerified)
      const steps = await Promise.all(factors.map(factor => stepOf(factor, attempt)))
      const accepts = async (tx: Db): Promise<boolean> => {
        for (const [at, factor] of factors.entries()) if (await acceptStep(tx, factor, steps[at])) return true
        return await factorStore(tx, userId).useRecoveryCode(recoveryCodes.hash(userId, code))
      }
      return async tx => {
        if (!(await accepts(tx))) throw challengeFailed()
        await clearCodeAttempts(tx, codeGuesses(userId))
      }
    },
  }
}

export type SecondFactor = ReturnType<typeof createSecondFactor>

/** Has a sign-in wait, whose password was right. The token is not stored. */
export const beginWaiting = async (tx: Db, userId: string, now: Date): Promise<string> => {
  const token = newToken(WAITING_PREFIX)
  await waitingStore(tx).insert({
    id: newId(now.getTime()),
    user_id: userId,
    token_hash: tokenHash(token),
    created_at: now,
    expires_at: new Date(now.getTime() + MFA_WAIT_SECONDS * 1000),
  })
  return token
}

/** The sign-in that a token names. */
export const getWaiting = async (db: Db, token: string, now: Date): Promise<WaitingRow> => {
  const waiting = await waitingStore(db).find(tokenHash(token))
  if (!waiting) throw challengeFailed()
  if (waiting.expires_at <= now) throw fault("mfa_challenge_expired")
  return waiting
}

/** Whoever guesses codes knows the password: with a new one the guesses are forgotten, and what waits with the old one ends. */
export const endWaits = async (tx: Db, userId: string): Promise<void> => {
  await waitingStore(tx).endAll(userId)
  await clearCodeAttempts(tx, codeGuesses(userId))
}
