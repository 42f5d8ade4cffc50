/** The pages, which call the operations in the name of whoever is signed in to the browser. */
import { createHmac, timingSafeEqual } from "node:crypto"
import { areas, type FaultCode, faults, type Operation, type Output, reply } from "@svc/contract"
import type { SignedIn } from "../../core/accounts/signed-in.ts"
import type { AccountCall, Principal } from "../../kernel/call.ts"
import type { InProcessCaller } from "../../kernel/edges/in-process.ts"
import { anonymous } from "../../kernel/exchange.ts"
import { fault } from "../../kernel/fault.ts"
import { implement } from "../../kernel/implement.ts"
import type { PipelineResult } from "../../kernel/pipeline.ts"
import { plainCode } from "./devices.ts"
import { pageHeaders, renderCode, renderConsent, renderDevice, renderDone, renderSignIn } from "./pages.ts"
import { formActionOf } from "./redirects.ts"
import { authorizationStore } from "./store.ts"

type Asked = Output<(typeof areas.oauth.specs)["getAuthorization"]>

export interface PageHandlerNeeds {
  readonly baseUrl: string
  readonly csrfKey: Buffer
  readonly signedIn: SignedIn
  readonly inProcess: InProcessCaller
  readonly isOwnOrigin: (origin: string) => boolean
}

/** Why a sign-in that was refused can be tried again on the same page. */
const RETRIED: ReadonlySet<string> = new Set<FaultCode>(["invalid_credentials", "account_locked"])
/** And a code on the page that asks for it. */
const RETRIED_CODES: ReadonlySet<string> = new Set<FaultCode>([
  "mfa_challenge_failed",
  "mfa_attempts_exceeded",
])

/** The refusal of an operation that the page called, as its own. */
const rethrow = ({ body }: PipelineResult["reply"]): never => {
  const code = (body as { code?: string }).code ?? ""
  throw fault(Object.hasOwn(faults, code) ? (code as FaultCode) : "internal_error")
}

export const pageHandlers = implement(areas.oauthPages, (needs: PageHandlerNeeds) => {
  const { baseUrl, csrfKey, signedIn, inProcess, isOwnOrigin } = needs
  const root = new URL(baseUrl).pathname.replace(/\/+$/, "")

  const personOf = (call: AccountCall) => signedIn(call.header("cookie"), call.now)

  /** Bound to the session and to what is decided, so that a form of another page or person is worth nothing. */
  const csrfOf = (id: string, { session }: Principal): string =>
    createHmac("sha256", csrfKey).update(`${id}:${session?.id}`).digest("base64url")

  const checkOrigin = ({ header }: AccountCall) => {
    const origin = header("origin")
    const isOurs = origin === undefined ? header("sec-fetch-site") === "same-origin" : isOwnOrigin(origin)
    if (!isOurs) throw fault("csrf_failed")
  }

  const checkForm = (given: string, id: string, person: Principal) => {
    const expected = Buffer.from(csrfOf(id, person))
    const sent = Buffer.from(given)
    if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) throw fault("csrf_failed")
  }

  const callAs = (
    principal: Principal,
    operation: Operation,
    input: Record<string, unknown>,
    call: AccountCall,
  ) =>
    inProcess({
      operation: operation.name,
      input,
      principal,
      project: null,
      ip: call.ip,
      headers: { "user-agent": call.userAgent ?? "" },
    })

  const pageOf = (html: string, call: AccountCall, answersAt?: string | null): string => {
    const source = answersAt ? formActionOf(answersAt) : ""
    for (const [name, value] of Object.entries(pageHeaders(source))) call.setHeader(name, value)
    return html
  }

  const consentPage = async (id: string, person: Principal, call: AccountCall): Promise<string> => {
    const { reply: answer } = await callAs(person, areas.oauth.operations.getAuthorization, { id }, call)
    if (answer.status !== 200) return rethrow(answer)
    const asked = answer.body as Asked
    return pageOf(renderConsent(asked, { root, csrf: csrfOf(id, person) }), call, asked.redirect_uri)
  }

  const checkWaits = async (id: string, { db, now }: AccountCall) => {
    if (!(await authorizationStore(db).findPending(id, now))) throw fault("resource_not_found", { id })
  }

  const bytes = (html: string) => Buffer.from(html) as unknown as string

  /** Goes on to the consent, or asks for the second factor. */
  const signedInOrAsked = (
    id: string,
    {
      answer,
      headers,
    }: { readonly answer: PipelineResult["reply"]; readonly headers: PipelineResult["headers"] },
    call: AccountCall,
  ) => {
    const { mfa_token } = answer.body as { mfa_token?: string }
    if (mfa_token !== undefined)
      return reply(200, bytes(pageOf(renderCode({ root, id, token: mfa_token }), call)))
    call.setHeader("set-cookie", headers["set-cookie"] ?? "")
    return reply(303, undefined, { location: `${baseUrl}/oauth/consent/${id}` })
  }

  return {
    async consent({ id }, call) {
      await checkWaits(id, call)
      const person = await personOf(call)
      return bytes(person ? await consentPage(id, person, call) : pageOf(renderSignIn({ root, id }), call))
    },

    async decide({ id, csrf, action, project, scope }, call) {
      checkOrigin(call)
      const person = await personOf(call)
      if (!person) throw fault("session_required")
      checkForm(csrf, id, person)
      const approval = {
        action: "approve",
        scopes: scope === undefined ? [] : [scope].flat(),
        ...(project && { project_id: project }),
      }
      const decision = action === "approve" ? approval : { action: "deny" }
      const { reply: answer } = await callAs(
        person,
        areas.oauth.operations.consent,
        { id, ...decision },
        call,
      )
      if (answer.status !== 200) return rethrow(answer)
      const { redirect_url } = answer.body as { redirect_url: string | null }
      if (redirect_url !== null) return reply(303, undefined, { location: redirect_url })
      return reply(200, bytes(pageOf(renderDone(root, action === "approve"), call)))
    },

    device: ({ user_code = "" }, call) => bytes(pageOf(renderDevice({ root, code: user_code }), call)),

    async enterCode({ user_code }, call) {
      checkOrigin(call)
      const row = await authorizationStore(call.db).findByUserCode(plainCode(user_code), call.now)
      if (row) return reply(303, undefined, { location: `${baseUrl}/oauth/consent/${row.id}` })
      const refusal = "No device waits with this code. Check it, or start anew on the device."
      return reply(200, bytes(pageOf(renderDevice({ root, code: user_code, refusal }), call)))
    },

    async signIn({ id, email, password }, call) {
      checkOrigin(call)
      await checkWaits(id, call)
      const { reply: answer, headers } = await callAs(
        anonymous,
        areas.account.operations.login,
        { email, password },
        call,
      )
      if (answer.status === 200) return signedInOrAsked(id, { answer, headers }, call)
      const { code = "", error = "" } = answer.body as { code?: string; error?: string }
      if (!RETRIED.has(code)) return rethrow(answer)
      return reply(200, bytes(pageOf(renderSignIn({ root, id, email, refusal: error }), call)))
    },

    async giveCode({ id, mfa_token, code }, call) {
      checkOrigin(call)
      await checkWaits(id, call)
      const { reply: answer, headers } = await callAs(
        anonymous,
        areas.account.operations.challenge,
        { mfa_token, code },
        call,
      )
      if (answer.status === 200) return signedInOrAsked(id, { answer, headers }, call)
      const { code: refused = "", error = "" } = answer.body as { code?: string; error?: string }
      if (refused === "mfa_challenge_expired")
        return reply(200, bytes(pageOf(renderSignIn({ root, id, refusal: error }), call)))
      if (!RETRIED_CODES.has(refused)) return rethrow(answer)
      return reply(200, bytes(pageOf(renderCode({ root, id, token: mfa_token, refusal: error }), call)))
    },
  }
})
