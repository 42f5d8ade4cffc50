/** Programs of others that speak OAuth, told of the ways of tests. */
import * as oauth from "oauth4webapi"
import type { TestPlatform } from "../../../testing/platform.ts"
import { watchedFetch } from "../../../testing/watch.ts"

/** Their own types say `body: undefined` where the platform's say that there is none. */
const fetchAsIs = watchedFetch as unknown as (url: string, options: object) => Promise<Response>

/** Options of oauth4webapi: servers of tests have no certificate, and every reply is held against the contract. */
export const insecure = { [oauth.allowInsecureRequests]: true, [oauth.customFetch]: fetchAsIs }

export const REDIRECT_URI = "http://127.0.0.1:51234/callback"

export const discover = async (p: TestPlatform): Promise<oauth.AuthorizationServer> =>
  oauth.processDiscoveryResponse(
    new URL(p.config.baseUrl),
    await oauth.discoveryRequest(new URL(p.url), { algorithm: "oauth2", ...insecure }),
  )

export interface App {
  readonly server: oauth.AuthorizationServer
  readonly client: oauth.Client
  readonly verifier: string
  /** The authorization request, with other parameters where given; an empty one is left out. */
  url(parameters?: Readonly<Record<string, string>>): Promise<URL>
  /** The answer's tokens. */
  redeem(answer: URL): Promise<oauth.TokenEndpointResponse>
  refresh(token: string, parameters?: Record<string, string>): Promise<oauth.TokenEndpointResponse>
}

/** A client that has registered. */
export const newApp = async (p: TestPlatform, metadata: Partial<oauth.Client> = {}): Promise<App> => {
  const server = await discover(p)
  const registration = { client_name: "Notes", redirect_uris: [REDIRECT_URI], ...metadata }
  const client = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(server, registration, insecure),
  )
  const secret = client.client_secret
  const auth = typeof secret === "string" ? oauth.ClientSecretBasic(secret) : oauth.None()
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  return {
    ...{ server, client, verifier },
    async url(parameters = {}) {
      const url = new URL(server.authorization_endpoint ?? "")
      const all = {
        response_type: "code",
        client_id: client.client_id,
        redirect_uri: REDIRECT_URI,
        scope: "kv:read kv:write offline_access",
        state,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
        ...parameters,
      }
      for (const [name, value] of Object.entries(all)) if (value !== "") url.searchParams.set(name, value)
      return url
    },
    async redeem(answer) {
      const parameters = oauth.validateAuthResponse(server, client, answer, state)
      const redirect = `${answer.origin}${answer.pathname}`
      const response = await oauth.authorizationCodeGrantRequest(
        ...([server, client, auth, parameters, redirect, verifier] as const),
        insecure,
      )
      return oauth.processAuthorizationCodeResponse(server, client, response)
    },
    async refresh(token, parameters = {}) {
      const options = { ...insecure, additionalParameters: parameters }
      const response = await oauth.refreshTokenGrantRequest(server, client, auth, token, options)
      return oauth.processRefreshTokenResponse(server, client, response)
    },
  }
}

/** A form sent to the token endpoint, or another, as it is. */
export const postForm = async (
  p: TestPlatform,
  path: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
) => {
  const body = new URLSearchParams(fields)
  const response = await p.request(path, { method: "POST", headers, body })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: (text === "" ? {} : JSON.parse(text)) as Record<string, string>,
  }
}
