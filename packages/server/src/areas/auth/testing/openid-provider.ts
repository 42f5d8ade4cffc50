/** An OpenID provider that others wrote, `oidc-provider`, and the browser of somebody who signs in there. */
import { generateKeyPairSync } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Provider } from "oidc-provider"
import type { Ends } from "../../../testing/ends.ts"
import type { TestPlatform } from "../../../testing/platform.ts"

export const CLIENT_SECRET = "the client's own secret, which is long"

type Claims = Readonly<Record<string, unknown>>

export interface OpenIdProvider {
  readonly issuer: string
  /** Who signs in next, and what the provider says of them. */
  person: { sub: string } & Claims
  /** Sees the secrets that clients send, where it is set; else they must be `CLIENT_SECRET`. */
  takesSecret: ((secret: string) => boolean) | undefined
}

export const callbackOf = (p: TestPlatform, name: string) =>
  `${p.config.baseUrl}/v1/auth/providers/${name}/callback`

export const startOpenIdProvider = async (
  t: Ends,
  p: TestPlatform,
  ...names: string[]
): Promise<OpenIdProvider> => {
  const server = createServer()
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  t.after(() => void server.close())
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const made: OpenIdProvider = { issuer, person: { sub: "ada" }, takesSecret: undefined }
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "shop",
        client_secret: CLIENT_SECRET,
        redirect_uris: names.map(name => callbackOf(p, name)),
        token_endpoint_auth_method: names.includes("apple") ? "client_secret_post" : "client_secret_basic",
        id_token_signed_response_alg: "ES256",
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), use: "sig", alg: "ES256" }] as never },
    cookies: { keys: ["cookies of a test"] },
    claims: { openid: ["sub"], email: ["email", "email_verified", "xms_edov"], profile: ["name"] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ ...made.person, sub: id }) }),
    async loadExistingGrant({ oidc }) {
      const clientId = oidc.client?.clientId
      const accountId = oidc.session?.accountId
      const grant = new provider.Grant({ ...(clientId && { clientId }), ...(accountId && { accountId }) })
      grant.addOIDCScope("openid email profile")
      await grant.save()
      return grant
    },
  })
  provider.Client.prototype.compareClientSecret = secret =>
    made.takesSecret?.(secret) ?? secret === CLIENT_SECRET
  const serve = provider.callback()
  server.on("request", (request, response) => {
    if (!request.url?.startsWith("/interaction/")) return void serve(request, response)
    const login = { accountId: made.person.sub }
    void provider.interactionFinished(request, response, { login })
  })
  return made
}

const FIELD = /name="([^"]+)" value="([^"]*)"/g

/** Opens a page as a browser does until it is sent back to the platform: the answer's address, and its form if it is one. */
export const answerOf = async (
  p: TestPlatform,
  start: string,
): Promise<{ readonly url: URL; readonly form?: URLSearchParams }> => {
  const cookies = new Map<string, string>()
  let url = new URL(start)
  for (let count = 0; count < 10; count++) {
    if (url.href.startsWith(p.config.baseUrl)) return { url }
    const cookie = [...cookies].map(pair => pair.join("=")).join("; ")
    const response = await fetch(url, { redirect: "manual", headers: { cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [name = "", value = ""] = (line.split(";")[0] ?? "").split("=")
      cookies.set(name, value)
    }
    const location = response.headers.get("location")
    if (location === null) {
      const text = await response.text()
      const action = /action="([^"]+)"/.exec(text)?.[1]
      if (action === undefined) throw new Error(`the provider answers ${response.status}: ${text}`)
      const form = new URLSearchParams()
      for (const [, name = "", value = ""] of text.matchAll(FIELD)) form.set(name, value)
      return { url: new URL(action), form }
    }
    url = new URL(location, url)
  }
  throw new Error("the provider redirects for ever")
}

/** Brings the answer to the platform: the page of the application that it sends the browser to. */
export const bring = async (
  p: TestPlatform,
  { url, form }: { readonly url: URL; readonly form?: URLSearchParams },
): Promise<{ readonly status: number; readonly page: URL | undefined }> => {
  const response = await p.request(url.pathname + url.search, {
    redirect: "manual",
    ...(form && {
      method: "POST",
      body: form.toString(),
      headers: { "content-type": "application/x-www-form-urlencoded", origin: "https://appleid.apple.com" },
    }),
  })
  const location = response.headers.get("location")
  return { status: response.status, page: location === null ? undefined : new URL(location) }
}
