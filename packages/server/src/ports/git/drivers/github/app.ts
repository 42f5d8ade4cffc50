/** GitHub Apps (docs.github.com/apps): a JWT signed with the App's key gets short-lived tokens of its installations. */
import { createHash, createPrivateKey } from "node:crypto"
import { LRUCache } from "lru-cache"
import { signToken } from "../../../jwt.ts"
import { PortError } from "../../../port-error.ts"
import { createApi } from "../../client.ts"
import type { GitAccount, GitApp, GitHttp, Installation, IssuedToken, Narrowing } from "../../port.ts"
import { type Json, numberAt, objectAt, textAt } from "../../reading.ts"
import { GITHUB_HEADERS, githubAccess } from "./access.ts"

/** GitHub takes at most ten minutes; a minute on both sides is for clocks that differ. */
const JWT_BACKDATED_SECONDS = 60
const JWT_SECONDS = 540
/** A token is given out while it has at least this long to live. */
const TOKEN_LEFT_MS = 300_000
const TOKENS_MAX = 10_000

export const createAppJwt = (appId: string, privateKey: string, nowMs: number): string => {
  const seconds = Math.floor(nowMs / 1_000)
  const claims = { iat: seconds - JWT_BACKDATED_SECONDS, exp: seconds + JWT_SECONDS, iss: appId }
  return signToken("RS256", createPrivateKey(privateKey), {}, claims)
}

const permissionsOf = (body: Json): Record<string, string> =>
  Object.fromEntries(
    Object.entries(objectAt(body, "permissions")).flatMap(([name, value]) =>
      typeof value === "string" ? [[name, value]] : [],
    ),
  )

const dateAt = (body: Json, name: string): Date | null => {
  const at = Date.parse(textAt(body, name) ?? "")
  return Number.isNaN(at) ? null : new Date(at)
}

const toInstallation = (json: unknown): Installation => {
  const body = objectAt(json)
  const account = objectAt(body, "account")
  return {
    id: numberAt(body, "id") ?? 0,
    account: { login: textAt(account, "login") ?? "", type: textAt(account, "type") ?? "" },
    repositorySelection: textAt(body, "repository_selection") ?? "selected",
    permissions: permissionsOf(body),
    suspendedAt: dateAt(body, "suspended_at"),
    htmlUrl: textAt(body, "html_url"),
  }
}

/** Tokens have no fixed length, and grow: whatever text comes is one. */
const toToken = (json: unknown): IssuedToken => {
  const body = objectAt(json)
  const token = body.token
  const expiresAt = dateAt(body, "expires_at")
  if (typeof token !== "string" || token === "" || expiresAt === null)
    throw new PortError("unavailable", "the provider's answer has no token")
  const repositorySelection = textAt(body, "repository_selection") ?? "all"
  return { token, expiresAt, permissions: permissionsOf(body), repositorySelection }
}

const narrowed = ({ repositoryIds, permissions }: Narrowing) => ({
  ...(repositoryIds && { repository_ids: [...repositoryIds].sort((a, b) => a - b) }),
  ...(permissions && { permissions: Object.fromEntries(Object.entries(permissions).sort()) }),
})

/** Issued tokens, of all Apps: a key that is replaced ends none of them, so the key is part of what they are under. */
export type TokenCache = LRUCache<string, IssuedToken>
export const createTokenCache = (): TokenCache => new LRUCache({ max: TOKENS_MAX })

export const openGithubApp = (
  http: GitHttp,
  now: () => number,
  tokens: TokenCache,
  { baseUrl, appId, privateKey }: GitAccount & { kind: "app" },
): GitApp => {
  const key = createHash("sha256").update(`${baseUrl}\n${appId}\n${privateKey}`).digest("base64")
  const asApp = createApi({
    ...{ http, now, baseUrl },
    headers: async () => ({
      ...GITHUB_HEADERS,
      authorization: `Bearer ${createAppJwt(appId, privateKey, now())}`,
    }),
  })

  const token: GitApp["token"] = async (id, narrowing, signal) => {
    const body = narrowed(narrowing)
    const name = `${key}:${id}:${JSON.stringify(body)}`
    const known = tokens.get(name)
    if (known && known.expiresAt.getTime() - now() >= TOKEN_LEFT_MS) return known
    const path = `/app/installations/${id}/access_tokens`
    const issued = toToken((await asApp({ method: "POST", path, body, signal })).json)
    tokens.set(name, issued)
    return issued
  }

  return {
    installation: async (id, signal) =>
      toInstallation((await asApp({ path: `/app/installations/${id}`, signal })).json),
    token,
    access: id =>
      githubAccess(
        createApi({
          ...{ http, now, baseUrl },
          headers: async signal => ({
            ...GITHUB_HEADERS,
            authorization: `Bearer ${(await token(id, {}, signal)).token}`,
          }),
        }),
        "/installation/repositories",
      ),
  }
}
