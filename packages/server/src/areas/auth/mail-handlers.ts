import type { areas, Input } from "@svc/contract"
import { checkPassword } from "../../core/accounts/rules.ts"
import type { Call } from "../../kernel/call.ts"
import { type Db, isUniqueViolation } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import type { Handlers } from "../../kernel/implement.ts"
import { addressBucket } from "../../kernel/stages/limit.ts"
import type { Caller, Context } from "./context.ts"
import { proofOf } from "./imported-proof.ts"
import { endUserHash, type MailRow, mailStore } from "./mail-store.ts"
import { checkRedirect, type MailRequest, requestMail } from "./mails.ts"
import { settleConfirmation, settleNewPassword } from "./settling.ts"
import type { SignIn } from "./sign-in.ts"
import { callerOf } from "./sign-in-handlers.ts"
import { type UserRow, userStore } from "./store.ts"

type Specs = typeof areas.auth.specs
type VerifyInput = Input<Specs["verify"]>

const KINDS: Readonly<Record<VerifyInput["type"], readonly string[]>> = {
  signup: ["signup"],
  magiclink: ["magiclink", "otp"],
  otp: ["magiclink", "otp"],
  invite: ["invite"],
  email_change: ["email_change"],
}

const invalid = () => fault("token_invalid_or_expired")

/** The mail that is meant, not used up yet; tries of codes are counted whatever comes of it. */
const findMail = async (
  { db, mailedTokens }: Context,
  { tenant, now }: Caller,
  { type, token, email, code }: VerifyInput,
): Promise<(tx: Db) => Promise<MailRow | undefined>> => {
  const kinds = KINDS[type]
  if (token !== undefined && code === undefined)
    return tx => mailStore(tx, tenant.projectId).useToken(kinds, mailedTokens.tokenHash(token), now)
  if (code === undefined) throw fault("missing_parameter", { field: "token" })
  if (email === undefined) throw fault("missing_parameter", { field: "email" })
  const account = endUserHash(tenant.projectId, email)
  const mail = await mailStore(db, tenant.projectId).tryCode(kinds, account, now)
  const codeHash = mail?.code_hash
  if (!mail || !codeHash || !mailedTokens.isCode({ id: mail.id, code_hash: codeHash }, code)) throw invalid()
  return tx => mailStore(tx, tenant.projectId).useCode(mail)
}

export const mailHandlers = (
  context: Context,
  signIn: SignIn,
): Pick<Handlers<Specs>, "resetPassword" | "confirmReset" | "verify" | "resend" | "magicLink" | "otp"> => {
  const { database, passwords, projectSettings, mailedTokens } = context

  const mailed = async (call: Call, request: MailRequest): Promise<Record<string, never>> => {
    const caller = callerOf(call)
    await checkRedirect(context, caller, request.redirectTo)
    await database.transaction(tx => requestMail(context, tx, caller, request))
    return {}
  }

  const hashOf = async ({ tenant }: Caller, password: string, email: string): Promise<string> => {
    const { password_length_min } = await projectSettings.of(tenant.projectId)
    checkPassword(password, email, password_length_min)
    return await passwords.hash(password)
  }

  const useMail = async (tx: Db, caller: Caller, use: (tx: Db) => Promise<MailRow | undefined>) => {
    const mail = await use(tx)
    const user = mail?.user_id && (await userStore(tx, caller.tenant.projectId).findForUpdate(mail.user_id))
    if (!mail || !user) throw invalid()
    return { mail, user }
  }

  /** A mail to another address than the user has gives them that address. */
  const withAddress = async (tx: Db, mail: MailRow, user: UserRow, now: Date): Promise<UserRow> => {
    const isOwn = mail.email.toLowerCase() === user.email?.toLowerCase()
    if (mail.kind !== "email_change") {
      // The address was changed since the mail was sent.
      if (!isOwn) throw invalid()
      return user
    }
    // The first address of an anonymous user is confirmed as one of a sign-up is: somebody else may have begun it.
    const isFirst = user.email === null
    const changed = {
      email: mail.email,
      is_anonymous: false,
      updated_at: now,
      ...(!isFirst && { email_confirmed_at: now }),
    }
    try {
      await userStore(tx, user.project_id).update(user.id, changed)
    } catch (error) {
      if (isUniqueViolation(error, "users_email")) throw invalid()
      throw error
    }
    await mailStore(tx, user.project_id).endAll(user.id)
    await context.userChanged(tx, user.id)
    return { ...user, ...changed }
  }

  /** Whether whoever confirms is whoever signed up: by the password, or by the network that it came from. */
  const isSamePerson = async (tx: Db, { ip }: Caller, user: UserRow, password: string | undefined) =>
    user.signup_source === addressBucket(ip) ||
    (password !== undefined && (await (await proofOf(context, tx, user.project_id, user)).verify(password)))

  return {
    resetPassword: ({ email, redirect_to }, call) =>
      mailed(call, { kind: "recovery", email, redirectTo: redirect_to }),
    resend: ({ email, redirect_to }, call) =>
      mailed(call, { kind: "signup", email, redirectTo: redirect_to }),
    magicLink: ({ email, redirect_to }, call) =>
      mailed(call, { kind: "magiclink", email, redirectTo: redirect_to }),
    otp: ({ email }, call) => mailed(call, { kind: "otp", email, redirectTo: undefined }),

    async confirmReset({ token, password }, call) {
      const caller = callerOf(call)
      const hash = await hashOf(caller, password, "")
      await database.transaction(async tx => {
        const store = mailStore(tx, caller.tenant.projectId)
        const use = () => store.useToken(["recovery"], mailedTokens.tokenHash(token), call.now)
        const { mail, user } = await useMail(tx, caller, use)
        const own = await withAddress(tx, mail, user, call.now)
        const confirmed = await settleConfirmation(context, tx, own, { isSamePerson: false, now: call.now })
        await settleNewPassword(context, tx, confirmed, { hash, now: call.now })
      })
      return {}
    },

    async verify(input, call) {
      const caller = callerOf(call)
      const { type, password } = input
      const use = await findMail(context, caller, input)
      const sets = password !== undefined && (type === "signup" || type === "invite")
      // Before the transaction: hashing takes a while.
      const hash = sets ? await hashOf(caller, password, input.email ?? "") : undefined
      const signedIn = await database.transaction(async tx => {
        const { mail, user: locked } = await useMail(tx, caller, use)
        const own = await withAddress(tx, mail, locked, call.now)
        const same = own.email_confirmed_at !== null || (await isSamePerson(tx, caller, own, password))
        const user = await settleConfirmation(context, tx, own, { isSamePerson: same, now: call.now })
        const ready =
          hash === undefined || (same && user.password_hash !== null)
            ? user
            : await settleNewPassword(context, tx, user, { hash, now: call.now })
        return await signIn.begin(tx, caller, ready, ["mail"])
      })
      return await signIn.reply(caller, signedIn)
    },
  }
}
