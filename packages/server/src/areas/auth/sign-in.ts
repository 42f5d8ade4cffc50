import { type areas, END_USER_SESSIONS_MAX, MFA_WAIT_SECONDS, type Output } from "@svc/contract"
import { newToken, tokenHash } from "../../core/accounts/token.ts"
import { failureStore } from "../../core/credentials/failure-store.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { addressBucket } from "../../kernel/stages/limit.ts"
import { type Caller, type Context, WAITING_PREFIX } from "./context.ts"
import { type FactorRow, factorStore } from "./factor-store.ts"
import { endUserHash } from "./mail-store.ts"
import { toFactor, toUser } from "./payloads.ts"
import { type SessionRow, sessionStore, type UserRow, userStore } from "./store.ts"
import { signToken } from "./tokens.ts"

type Specs = typeof areas.auth.specs
export type SignInPayload = Output<Specs["login"]>
export type SessionPayload = Output<Specs["refresh"]>

/** How somebody proved who they are (RFC 8176). */
export type Method = "pwd" | "otp" | "mail" | "recovery" | "anonymous" | "oauth"

/** What a sign-in came to in its transaction. */
export type SignedIn =
  | {
      readonly kind: "session"
      readonly user: UserRow
      readonly session: SessionRow
      readonly factors: FactorRow[]
    }
  | { readonly kind: "waiting"; readonly factors: FactorRow[]; readonly token: string }

export const checkBan = ({ banned_until }: UserRow, now: Date): void => {
  if (banned_until && banned_until > now) throw fault("user_banned")
}

export const createSignIn = (context: Context) => {
  const { baseUrl, keys, projectSettings, refreshTokens, userChanged } = context

  /** Opens a session. What proved the user is done with in the same transaction. */
  const openSession = async (
    tx: Db,
    { tenant, ip, userAgent, now }: Caller,
    user: UserRow,
    level: "aal1" | "aal2",
    methods: readonly Method[],
  ): Promise<SignedIn> => {
    const { projectId } = tenant
    const settings = await projectSettings.of(projectId)
    const after = (seconds: number) => new Date(now.getTime() + seconds * 1000)
    const session: SessionRow = {
      id: newId(now.getTime()),
      project_id: projectId,
      user_id: user.id,
      number: 1,
      numbered_at: now,
      level,
      methods: [...methods],
      ip,
      user_agent: userAgent,
      created_at: now,
      idle_until: after(settings.session_idle_seconds),
      expires_at: after(settings.session_lifetime_seconds),
    }
    await sessionStore(tx, projectId).insert(session)
    await sessionStore(tx, projectId).deleteSurplus(user.id, END_USER_SESSIONS_MAX)
    await userStore(tx, projectId).update(user.id, { last_sign_in_at: now })
    await userStore(tx, projectId).addSource(user.id, addressBucket(ip), now)
    if (user.email !== null)
      await failureStore(tx).clear({ account: endUserHash(projectId, user.email), source: addressBucket(ip) })
    await userChanged(tx, user.id)
    const factors = await factorStore(tx, projectId).list(user.id)
    return { kind: "session", user: { ...user, last_sign_in_at: now }, session, factors }
  }

  const wait = async (tx: Db, { tenant, ip, now }: Caller, user: UserRow, methods: readonly Method[]) => {
    const token = newToken(WAITING_PREFIX)
    await factorStore(tx, tenant.projectId).wait({
      id: newId(now.getTime()),
      project_id: tenant.projectId,
      user_id: user.id,
      token_hash: tokenHash(token),
      source: addressBucket(ip),
      methods: [...methods],
      created_at: now,
      expires_at: new Date(now.getTime() + MFA_WAIT_SECONDS * 1000),
    })
    return token
  }

  return {
    openSession,

    /** For a user who has proved the first factor. Throws `user_banned`. */
    async begin(tx: Db, caller: Caller, user: UserRow, methods: readonly Method[]): Promise<SignedIn> {
      checkBan(user, caller.now)
      const factors = await factorStore(tx, caller.tenant.projectId).list(user.id)
      const verified = factors.filter(({ status }) => status === "verified")
      if (verified.length === 0) return await openSession(tx, caller, user, "aal1", methods)
      return { kind: "waiting", factors: verified, token: await wait(tx, caller, user, methods) }
    },

    /** The tokens of a session. */
    async session(
      { tenant, now }: Pick<Caller, "tenant" | "now">,
      { user, session, factors }: Extract<SignedIn, { kind: "session" }>,
    ): Promise<SessionPayload> {
      const settings = await projectSettings.of(tenant.projectId)
      const seconds = settings.access_token_seconds
      const nowSeconds = Math.floor(now.getTime() / 1000)
      const signing = await keys.of(tenant, now)
      return {
        access_token: await signToken(signing, baseUrl, { user, session, nowSeconds, seconds }),
        token_type: "bearer",
        expires_in: seconds,
        expires_at: nowSeconds + seconds,
        refresh_token: refreshTokens.write({ family: session.id, number: session.number }),
        user: toUser(user, factors),
        mfa_required: false,
      }
    },

    /** What a sign-in is answered with. */
    async reply(caller: Pick<Caller, "tenant" | "now">, signedIn: SignedIn): Promise<SignInPayload> {
      if (signedIn.kind === "session") return await this.session(caller, signedIn)
      const factors = signedIn.factors.map(toFactor).map(({ id, type, friendly_name }) => ({
        id,
        type,
        friendly_name,
      }))
      return { mfa_required: true, factors, mfa_token: signedIn.token, expires_in: MFA_WAIT_SECONDS }
    },
  }
}

export type SignIn = ReturnType<typeof createSignIn>
