/** Speaks to outside providers, by the client of oauth4webapi over the guarded client of the platform. */
import { createPrivateKey } from "node:crypto"
import { decodeJwt, importPKCS8, SignJWT } from "jose"
import { LRUCache } from "lru-cache"
import * as oauth from "oauth4webapi"
import { isUuid } from "../../kernel/id.ts"
import type { Outbound } from "../../kernel/outbound/outbound.ts"
import { githubAddresses, githubIdentity, type Identity, identityOf, presetOf } from "./provider-presets.ts"
import type { ProviderRow } from "./provider-store.ts"

const TIMEOUT_MS = 5_000
const BYTES_MAX = 262_144
const METADATA_KEPT_MS = 600_000
const METADATA_MAX = 1_000
const APPLE_SECRET_SECONDS = 300
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304])

/** What a provider's answer cannot be believed for. `reason` is for the owner of the application. */
export class ProviderError extends Error {
  override readonly name = "ProviderError"
}

interface Known {
  readonly server: oauth.AuthorizationServer
  readonly jwks: oauth.JWKSCacheInput
  readonly readAtMs: number
}

/** What one sign-in is bound by at the provider. */
export interface Bound {
  readonly redirectUri: string
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** `fetch` over the guarded client, which follows no redirects and judges every address itself. */
const guardedFetch =
  (outbound: Pick<Outbound, "request">) =>
  async (
    url: string,
    { method, headers, body }: { method: string; headers: Record<string, string>; body?: unknown },
  ): Promise<Response> => {
    const answer = await outbound.request({
      url,
      method: method === "POST" ? "POST" : "GET",
      headers: { ...headers, "user-agent": "svc" },
      ...(body !== undefined && body !== null && { body: String(body) }),
      timeoutMs: TIMEOUT_MS,
      responseBytesMax: BYTES_MAX,
      overflow: "fail",
    })
    if (answer.kind !== "answered") throw new ProviderError(answer.message)
    const type = answer.headers["content-type"]
    return new Response(BODILESS.has(answer.status) ? null : new Uint8Array(answer.body), {
      status: answer.status,
      ...(type !== undefined && { headers: { "content-type": type } }),
    })
  }

/** Apple's clients prove who they are by a JWT that their private key signs. */
const appleSecret = async (row: ProviderRow, pem: string, nowMs: number): Promise<string> => {
  const seconds = Math.floor(nowMs / 1000)
  return new SignJWT()
    .setProtectedHeader({ alg: "ES256", kid: row.key_id ?? "" })
    .setIssuer(row.team_id ?? "")
    .setSubject(row.client_id)
    .setAudience(row.issuer)
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + APPLE_SECRET_SECONDS)
    .sign(await importPKCS8(pem, "ES256"))
}

/** Whether a text is the private key of a client of Apple's. */
export const isAppleKey = (pem: string): boolean => {
  try {
    return createPrivateKey(pem).asymmetricKeyDetails?.namedCurve === "prime256v1"
  } catch {
    return false
  }
}

const TENANT = "{tenantid}"

/** Microsoft describes one provider for many tenants, whose issuers have the tenant's id where the description has this. */
const readMicrosoft = async (response: Response): Promise<oauth.AuthorizationServer> => {
  const read = (await response.json()) as Partial<oauth.AuthorizationServer> | null
  if (response.status !== 200 || typeof read?.issuer !== "string" || !URL.canParse(read.issuer))
    throw new ProviderError("its description is not that of an OpenID provider")
  return { ...read, issuer: read.issuer }
}

/** The server with the issuer of the tenant that the token names; whether the token is that one's is checked afterwards. */
const ofTenant = async (server: oauth.AuthorizationServer, response: Response) => {
  if (!server.issuer.includes(TENANT)) return server
  const { id_token } = (await response.clone().json()) as { id_token?: unknown }
  const { tid } = decodeJwt(String(id_token))
  if (typeof tid !== "string" || !isUuid(tid)) throw new ProviderError("the token names no tenant")
  return { ...server, issuer: server.issuer.replace(TENANT, tid) }
}

export const createProviderClient = (needs: { readonly outbound: Pick<Outbound, "request"> }) => {
  const known = new LRUCache<string, Known>({ max: METADATA_MAX })
  // Whether plain http is allowed is for the guarded client to say.
  const options = {
    [oauth.customFetch]: guardedFetch(needs.outbound) as never,
    [oauth.allowInsecureRequests]: true,
  }

  const describe = async ({ name, issuer }: ProviderRow): Promise<oauth.AuthorizationServer> => {
    if (presetOf(name).kind === "github") return githubAddresses(issuer).metadata
    const url = new URL(issuer)
    const response = await oauth.discoveryRequest(url, options)
    const server =
      name === "microsoft"
        ? await readMicrosoft(response)
        : await oauth.processDiscoveryResponse(url, response)
    if (new URL(server.issuer).origin !== url.origin) throw new ProviderError("its issuer is another one")
    return server
  }

  const serverOf = async (row: ProviderRow, nowMs: number): Promise<Known> => {
    const key = JSON.stringify([row.name, row.issuer])
    const found = known.get(key)
    if (found && Math.abs(nowMs - found.readAtMs) < METADATA_KEPT_MS) return found
    const made = { server: await describe(row), jwks: {}, readAtMs: nowMs }
    known.set(key, made)
    return made
  }

  const authOf = async (
    row: ProviderRow,
    secret: string | undefined,
    server: oauth.AuthorizationServer,
    nowMs: number,
  ) => {
    if (secret === undefined) return oauth.None()
    if (row.name === "apple") return oauth.ClientSecretPost(await appleSecret(row, secret, nowMs))
    const methods = server.token_endpoint_auth_methods_supported
    const isPost =
      row.name === "github" || (methods !== undefined && !methods.includes("client_secret_basic"))
    return isPost ? oauth.ClientSecretPost(secret) : oauth.ClientSecretBasic(secret)
  }

  const githubOf = async (row: ProviderRow, token: string): Promise<Identity | undefined> => {
    const { user, emails, metadata } = githubAddresses(row.issuer)
    const read = async (url: string): Promise<unknown> => {
      const headers = new Headers({ accept: "application/vnd.github+json" })
      const response = await oauth.protectedResourceRequest(
        token,
        "GET",
        new URL(url),
        headers,
        null,
        options,
      )
      if (response.status !== 200) throw new ProviderError(`its API answers ${response.status}`)
      return response.json()
    }
    return githubIdentity(metadata.issuer, await read(user), await read(emails))
  }

  const openidOf = async (
    known: Known,
    client: oauth.Client,
    response: Response,
    nonce: string,
  ): Promise<{ readonly claims: Record<string, unknown> }> => {
    const { jwks } = known
    const server = await ofTenant(known.server, response)
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
      expectedNonce: nonce,
      requireIdToken: true,
    })
    await oauth.validateApplicationLevelSignature(server, response, { ...options, [oauth.jwksCache]: jwks })
    const claims = oauth.getValidatedIdTokenClaims(tokens)
    if (!claims) throw new ProviderError("it sent no ID token")
    if (claims.email !== undefined || !server.userinfo_endpoint) return { claims }
    const asked = await oauth.userInfoRequest(server, client, tokens.access_token, options)
    const told = await oauth.processUserInfoResponse(server, client, claims.sub, asked)
    const { iss, sub } = claims
    return { claims: { ...told, ...claims, iss, sub } }
  }

  return {
    /** The page of the provider that a browser opens. */
    async authorizationUrl(row: ProviderRow, bound: Bound, nowMs: number): Promise<string> {
      const { server } = await serverOf(row, nowMs)
      const url = URL.parse(server.authorization_endpoint ?? "")
      if (!url || !/^https?:$/.test(url.protocol)) throw new ProviderError("it names no page to sign in at")
      const preset = presetOf(row.name)
      const parameters = {
        ...preset.parameters,
        client_id: row.client_id,
        response_type: "code",
        redirect_uri: bound.redirectUri,
        scope: row.scopes.join(" "),
        state: bound.state,
        code_challenge: await oauth.calculatePKCECodeChallenge(bound.verifier),
        code_challenge_method: "S256",
        ...(preset.kind === "openid" && { nonce: bound.nonce }),
      }
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
      return url.href
    },

    /** Who signed in, by the answer that the provider sent the browser back with. */
    async identify(
      row: ProviderRow,
      secret: string | undefined,
      bound: Bound,
      answer: URLSearchParams,
      nowMs: number,
    ): Promise<Identity> {
      const found = await serverOf(row, nowMs)
      const { server } = found
      const client: oauth.Client = { client_id: row.client_id }
      const parameters = oauth.validateAuthResponse(server, client, answer, bound.state)
      const auth = await authOf(row, secret, server, nowMs)
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        auth,
        parameters,
        bound.redirectUri,
        bound.verifier,
        options,
      )
      let identity: Identity | undefined
      if (presetOf(row.name).kind === "github") {
        const tokens = await oauth.processGenericTokenEndpointResponse(server, client, response)
        identity = await githubOf(row, tokens.access_token)
      } else identity = identityOf(row.name, (await openidOf(found, client, response, bound.nonce)).claims)
      if (!identity) throw new ProviderError("it does not say who signed in")
      return identity
    },
  }
}

export type ProviderClient = ReturnType<typeof createProviderClient>

/** The person refused, or the provider: what the application is told as it is. */
export const isAccessDenied = (error: unknown): boolean =>
  error instanceof oauth.AuthorizationResponseError && error.error === "access_denied"
