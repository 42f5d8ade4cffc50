/** Signing in with a person's consent: in the browser of this machine, or by a code that is entered elsewhere. */
import { createHash, randomBytes } from "node:crypto"
import { setTimeout as pause } from "node:timers/promises"
import {
  OAUTH_CLI_CLIENT_ID,
  OAUTH_CODE_GRANT,
  OAUTH_DECISION_SECONDS,
  OAUTH_DEVICE_GRANT,
} from "@svc/contract"
import { createSvc, SvcError } from "@svc/sdk"
import { awaitAnswer, browserOf, openBrowser } from "../browser.ts"
import { type SignIn, toSignIn } from "../sign-ins.ts"
import { type Terminal, UsageError } from "../terminal.ts"

export interface Asked {
  readonly url: string
  /** Scopes with spaces between them; all when left out. */
  readonly scope: string | undefined
}

const random = () => randomBytes(32).toString("base64url")

/** Checks that the answer is to this request (state) and of this platform (iss). */
const codeOf = (
  answer: URLSearchParams,
  { state, issuer }: { readonly state: string; readonly issuer: string },
) => {
  if (answer.get("state") !== state || answer.get("iss") !== issuer)
    throw new UsageError("the browser brought an answer to another request: run svc login again")
  const code = answer.get("code")
  if (code === null) throw new UsageError(`nothing was connected: ${answer.get("error") ?? "no code"}`)
  return code
}

export const signInByBrowser = async ({ url, scope }: Asked, terminal: Terminal): Promise<SignIn> => {
  const svc = createSvc({ baseUrl: url })
  const { issuer, authorization_endpoint } = await svc.oauth.metadata()
  const [verifier, state] = [random(), random()]
  using callback = await awaitAnswer()
  const page = new URL(authorization_endpoint)
  page.search = new URLSearchParams({
    response_type: "code",
    client_id: OAUTH_CLI_CLIENT_ID,
    redirect_uri: callback.redirectUri,
    state,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    ...(scope !== undefined && { scope }),
  }).toString()
  terminal.err.line(`Open this page to go on:\n${page}`)
  const browser = browserOf(terminal.env)
  if (browser) openBrowser(browser, String(page))
  const stop = new AbortController()
  const late = pause(OAUTH_DECISION_SECONDS * 1000, undefined, { signal: stop.signal }).catch(() => undefined)
  const answer = await Promise.race([callback.answer, late])
  stop.abort()
  if (!answer) throw new UsageError("nobody answered within ten minutes")
  const code = codeOf(answer, { state, issuer })
  return toSignIn(
    await svc.oauth.token({
      grant_type: OAUTH_CODE_GRANT,
      client_id: OAUTH_CLI_CLIENT_ID,
      code,
      redirect_uri: callback.redirectUri,
      code_verifier: verifier,
    }),
  )
}

/** Seconds that are added to the interval when the platform asks for it (RFC 8628, 3.5). */
const SLOWER_SECONDS = 5

export const signInByCode = async ({ url, scope }: Asked, terminal: Terminal): Promise<SignIn> => {
  const svc = createSvc({ baseUrl: url })
  const device = await svc.oauth.deviceAuthorization({
    client_id: OAUTH_CLI_CLIENT_ID,
    ...(scope !== undefined && { scope }),
  })
  terminal.err.line(`Open ${device.verification_uri} in a browser and enter the code ${device.user_code}`)
  let seconds = Number(device.interval)
  for (;;) {
    await pause(seconds * 1000)
    try {
      const form = { grant_type: OAUTH_DEVICE_GRANT, client_id: OAUTH_CLI_CLIENT_ID }
      return toSignIn(await svc.oauth.token({ ...form, device_code: device.device_code }))
    } catch (error) {
      const code = error instanceof SvcError ? error.code : undefined
      if (code === "oauth_slow_down") seconds += SLOWER_SECONDS
      else if (code !== "oauth_authorization_pending") throw error
    }
  }
}
