/** Access tokens: JWTs by RFC 9068, signed with ES256. */
import { randomUUID } from "node:crypto"
import { createLocalJWKSet, decodeJwt, errors, type JWTPayload, jwtVerify, SignJWT } from "jose"
import type { EndUserTokens } from "../../core/end-users.ts"
import { createProjectDirectory } from "../../core/organizations/directory.ts"
import { createTenants } from "../../core/organizations/tenants.ts"
import type { Principal } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Db } from "../../kernel/db/database.ts"
import { anonymous } from "../../kernel/exchange.ts"
import { fault } from "../../kernel/fault.ts"
import { isUuid } from "../../kernel/id.ts"
import { createPushedCache } from "../../kernel/pushed-cache.ts"
import type { ProjectKeys, SigningKeys } from "./keys.ts"
import type { SessionRow, UserRow } from "./store.ts"

/** What is told when sessions of a user begin or end, and when the user is banned or deleted. */
export const USER_TOPIC = "auth.user"
const CACHED_MAX = 50_000
const TYPE = "at+jwt"

/** What decides whether a token that is not expired still counts. */
interface Standing {
  readonly userId: string
  readonly bannedUntilMs: number
  readonly email: string | null
  readonly sessions: ReadonlyMap<string, { readonly level: string; readonly endsAtMs: number }>
}

export const issuerOf = (baseUrl: string, projectId: string) => `${baseUrl}/v1/auth/${projectId}`

/** What an access token says. */
export const signToken = async (
  { kid, signing }: ProjectKeys,
  baseUrl: string,
  { user, session, nowSeconds, seconds }: TokenSubject,
): Promise<string> =>
  new SignJWT({
    client_id: user.project_id,
    session_id: session.id,
    role: "authenticated",
    ...(user.email !== null && { email: user.email }),
    is_anonymous: user.is_anonymous,
    aal: session.level,
    amr: session.methods,
  })
    .setProtectedHeader({ alg: "ES256", typ: TYPE, kid })
    .setIssuer(issuerOf(baseUrl, user.project_id))
    .setSubject(user.id)
    .setAudience(user.project_id)
    .setIssuedAt(nowSeconds)
    .setExpirationTime(nowSeconds + seconds)
    .setJti(randomUUID())
    .sign(signing)

interface TokenSubject {
  readonly user: UserRow
  readonly session: SessionRow
  readonly nowSeconds: number
  readonly seconds: number
}

/** Which project's keys to check with; what else the token says is believed after that. */
const claimedProject = (token: string): string => {
  try {
    const { aud } = decodeJwt(token)
    if (typeof aud === "string" && isUuid(aud)) return aud.toLowerCase()
  } catch {
    // It is no JWT.
  }
  throw fault("token_invalid")
}

export const createTokens = (needs: {
  readonly db: Db
  readonly changes: Changes
  readonly keys: SigningKeys
  readonly baseUrl: string
}): EndUserTokens => {
  const { db, changes, keys, baseUrl } = needs
  const tenants = createTenants(db, changes)
  const projects = createProjectDirectory(db, changes)

  const standings = createPushedCache<Standing | undefined>({
    changes,
    topics: { [USER_TOPIC]: "one" },
    read: async userId => {
      const user = await db
        .selectFrom("auth.users")
        .select(["id", "email", "banned_until"])
        .where("id", "=", userId)
        .executeTakeFirst()
      if (!user) return undefined
      const sessions = await db
        .selectFrom("auth.sessions")
        .select(["id", "level", "idle_until", "expires_at"])
        .where("user_id", "=", userId)
        .execute()
      const entries = sessions.map(({ id, level, idle_until, expires_at }) => {
        const endsAtMs = Math.min(idle_until.getTime(), expires_at.getTime())
        return [id, { level, endsAtMs }] as const
      })
      return {
        userId,
        bannedUntilMs: user.banned_until?.getTime() ?? 0,
        email: user.email,
        sessions: new Map(entries),
      }
    },
    idOf: standing => standing?.userId,
    entriesMax: CACHED_MAX,
  })

  const verified = async (token: string, projectId: string, nowMs: number): Promise<JWTPayload> => {
    const known = await keys.find(projectId)
    if (!known) throw fault("token_invalid")
    try {
      const { payload } = await jwtVerify(token, createLocalJWKSet({ keys: [...known.published] }), {
        algorithms: ["ES256"],
        typ: TYPE,
        issuer: issuerOf(baseUrl, projectId),
        audience: projectId,
        requiredClaims: ["sub", "exp", "iat", "session_id"],
        currentDate: new Date(nowMs),
      })
      return payload
    } catch (error) {
      throw fault(error instanceof errors.JWTExpired ? "token_expired" : "token_invalid")
    }
  }

  /** The session may have ended before its token expires. */
  const standingOf = async ({ sub = "", session_id }: JWTPayload, nowMs: number) => {
    const standing = await standings.find(sub)
    const session = standing?.sessions.get(String(session_id))
    if (!standing || !session || session.endsAtMs <= nowMs) throw fault("token_invalid")
    if (standing.bannedUntilMs > nowMs) throw fault("user_banned")
    return { ...standing, level: session.level }
  }

  return {
    async find(token, nowMs): Promise<Principal> {
      const projectId = claimedProject(token)
      const payload = await verified(token, projectId, nowMs)
      const { userId, email, level } = await standingOf(payload, nowMs)
      const tenant = await tenants.find(projectId)
      const project = tenant && (await projects.find(tenant.organization.id, projectId))
      if (!tenant || !project) throw fault("token_invalid")
      const principal: Principal = {
        ...anonymous,
        type: "end_user",
        id: userId,
        name: email ?? userId,
        organization: tenant.organization,
        project,
        endUser: {
          id: userId,
          sessionId: String(payload.session_id),
          level: level === "aal2" ? "aal2" : "aal1",
        },
      }
      return Object.freeze(principal)
    },
  }
}
