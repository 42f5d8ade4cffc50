import { createHmac } from "node:crypto"
import { type areas, type Input, PROVIDER_CODE_SECONDS, PROVIDER_SIGN_IN_SECONDS } from "@svc/contract"
import { newToken, tokenHash } from "../../core/accounts/token.ts"
import type { AccountCall, Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Handlers } from "../../kernel/implement.ts"
import type { Context } from "./context.ts"
import { resolveIdentity } from "./identities.ts"
import { checkRedirect } from "./mails.ts"
import type { Bound, ProviderClient } from "./provider-client.ts"
import type { Identity } from "./provider-presets.ts"
import { callbackUrl, secretContext } from "./provider-settings.ts"
import {
  identityStore,
  type ProviderRow,
  type ProviderSignInRow,
  providerStore,
  takeState,
} from "./provider-store.ts"
import type { SignIn } from "./sign-in.ts"
import { callerOf } from "./sign-in-handlers.ts"
import { endUserOf, lockUser } from "./user-handlers.ts"

type Specs = typeof areas.auth.specs
type StartInput = Input<Specs["startProvider"]>
type Answer = Input<Specs["providerCallback"]>

const STATE_PREFIX = "svc_ups_"
const CODE_PREFIX = "svc_upc_"

const identityContext = (id: string) => `auth.provider_sign_ins:${id}`
const expired = () => fault("token_invalid_or_expired")

const after = (now: Date, seconds: number) => new Date(now.getTime() + seconds * 1000)

/** The page of the application with more in its query. */
const pageWith = (page: string, parameters: Readonly<Record<string, string>>): string => {
  const url = new URL(page)
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}

const challengeOf = (verifier: string) => tokenHash(verifier).toString("base64url")

export const providerHandlers = (
  context: Context,
  signIn: SignIn,
): Pick<
  Handlers<Specs>,
  | "startProvider"
  | "startLink"
  | "exchange"
  | "listIdentities"
  | "unlinkIdentity"
  | "providerCallback"
  | "providerFormCallback"
> => {
  const { db, database, box, baseUrl, outbound, deriveSecret } = context
  const key = deriveSecret("svc:provider-sign-ins", "auth")
  let opening: Promise<ProviderClient> | undefined
  const client = () => {
    opening ??= import("./provider-client.ts").then(({ createProviderClient }) =>
      createProviderClient({ outbound }),
    )
    return opening
  }

  /** Nonce and verifier follow from the state, which is not stored: nothing in the database completes a sign-in. */
  const boundBy = (state: string, name: string): Bound => {
    const derived = (purpose: string) =>
      createHmac("sha256", key).update(`${purpose}:${state}`).digest("base64url")
    return {
      state,
      nonce: derived("nonce"),
      verifier: derived("verifier"),
      redirectUri: callbackUrl(baseUrl, name),
    }
  }

  const start = async (input: StartInput, call: Call, linkingUserId: string | null) => {
    const { provider, redirect_to, code_challenge } = input
    const { tenant, now } = callerOf(call)
    await checkRedirect(context, { tenant }, redirect_to)
    const store = providerStore(db, tenant.projectId)
    const row = await store.find(provider)
    if (!row?.enabled) throw fault("resource_not_found", { id: provider })
    const state = newToken(STATE_PREFIX)
    const url = await (await client())
      .authorizationUrl(row, boundBy(state, provider), now.getTime())
      .catch(error => {
        throw fault("provider_unavailable", { reason: (error as Error).message }, { internal: error })
      })
    const expiresAt = after(now, PROVIDER_SIGN_IN_SECONDS)
    await store.begin({
      id: newId(now.getTime()),
      project_id: tenant.projectId,
      organization_id: tenant.organizationId,
      provider,
      state_hash: tokenHash(state),
      code_hash: null,
      code_challenge,
      redirect_to,
      linking_user_id: linkingUserId,
      identity: null,
      created_at: now,
      expires_at: expiresAt,
    })
    return { url, expires_at: expiresAt.toISOString() }
  }

  const identify = async (row: ProviderRow, answer: Answer, now: Date): Promise<Identity> => {
    const { provider, ...parameters } = answer
    const { code, error, error_description, iss, state } = parameters
    const search = new URLSearchParams()
    for (const [name, value] of Object.entries({ code, error, error_description, iss, state }))
      if (value !== undefined) search.set(name, value)
    const secret =
      row.client_secret === null
        ? undefined
        : await box.open(row.organization_id, secretContext(row), row.client_secret)
    return (await client()).identify(row, secret, boundBy(state, provider), search, now.getTime())
  }

  /** A code for what the provider said, which says nothing to anybody but who began the sign-in. */
  const keep = async (waiting: ProviderSignInRow, identity: Identity, now: Date): Promise<string> => {
    const code = newToken(CODE_PREFIX)
    await providerStore(db, waiting.project_id).answer(waiting.id, {
      code_hash: tokenHash(code),
      identity: await box.seal(
        waiting.organization_id,
        identityContext(waiting.id),
        JSON.stringify(identity),
      ),
      expires_at: after(now, PROVIDER_CODE_SECONDS),
    })
    return code
  }

  const callback = async (answer: Answer, call: AccountCall): Promise<undefined> => {
    const waiting = await takeState(db, tokenHash(answer.state))
    // An answer that arrives at another provider's address was given by that one, whatever state it has.
    if (!waiting || waiting.expires_at <= call.now || waiting.provider !== answer.provider) throw expired()
    call.describe({ tenantId: waiting.organization_id })
    const row = await providerStore(db, waiting.project_id).find(waiting.provider)
    if (!row?.enabled) throw expired()
    const send = (parameters: Readonly<Record<string, string>>) =>
      call.setHeader("location", pageWith(waiting.redirect_to, parameters))
    try {
      send({ code: await keep(waiting, await identify(row, answer, call.now), call.now) })
    } catch (error) {
      const { isAccessDenied } = await import("./provider-client.ts")
      const isDenied = isAccessDenied(error)
      if (!isDenied)
        call.log.warn({ err: error, provider: row.name }, "sign-in by an outside provider failed")
      send({ error: isDenied ? "access_denied" : "provider_failed" })
    }
  }

  return {
    startProvider: (input, call) => start(input, call, null),
    startLink: (input, call) => start(input, call, endUserOf(call).id),
    providerCallback: callback,
    providerFormCallback: callback,

    async exchange({ code, code_verifier }, call) {
      const caller = callerOf(call)
      const waiting = await providerStore(db, caller.tenant.projectId).takeCode(tokenHash(code))
      if (!waiting?.identity || waiting.expires_at <= call.now) throw expired()
      if (challengeOf(code_verifier) !== waiting.code_challenge) throw expired()
      const opened = await box.open(waiting.organization_id, identityContext(waiting.id), waiting.identity)
      const identity = JSON.parse(opened) as Identity
      const signedIn = await database.transaction(async tx => {
        const user = await resolveIdentity(context, tx, caller, waiting, identity)
        return await signIn.begin(tx, caller, user, ["oauth"])
      })
      return await signIn.reply(caller, signedIn)
    },

    async listIdentities(_input, call) {
      const rows = await identityStore(call.db, call.projectTenant.projectId).list(endUserOf(call).id)
      const identities = rows.map(({ id, provider, email, created_at, last_used_at }) => ({
        ...{ id, provider, email },
        created_at: created_at.toISOString(),
        last_used_at: last_used_at.toISOString(),
      }))
      return { identities }
    },

    async unlinkIdentity({ id }, call): Promise<undefined> {
      await database.transaction(async tx => {
        const user = await lockUser(tx, call)
        const store = identityStore(tx, user.project_id)
        const rows = await store.list(user.id)
        if (!rows.some(row => row.id === id)) throw fault("resource_not_found", { id })
        if (user.email === null && rows.length === 1)
          throw fault("conflict", { reason: "the user has no other way to sign in" })
        await store.delete(id)
      })
    },
  }
}
