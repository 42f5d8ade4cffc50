/** Connections and their tokens. */
import {
  isScope,
  OAUTH_ACCESS_SECONDS,
  OAUTH_OFFLINE_SCOPE,
  OAUTH_REFRESH_DAYS,
  type PlanName,
} from "@svc/contract"
import { emitKeyEvents, type KeyNews } from "../../core/keys/events.ts"
import { mintKey, unrestricted } from "../../core/keys/mint.ts"
import { revokeKeys } from "../../core/keys/revoke.ts"
import { checkRoomForKey } from "../../core/keys/room.ts"
import { type KeyRow, keyStore } from "../../core/keys/store.ts"
import { organizationStore } from "../../core/organizations/store.ts"
import type { NumberedTokens } from "../../core/secrets/numbered-tokens.ts"
import { judgeToken, REPEAT_WINDOW_MS } from "../../core/secrets/numbered-tokens.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { type Choice, canGrant, findChoice } from "./choices.ts"
import {
  type AuthorizationRow,
  authorizationStore,
  type ClientRow,
  type GrantRow,
  grantStore,
} from "./store.ts"

const DAY_MS = 86_400_000

export interface Issued {
  readonly access_token: string
  readonly token_type: string
  readonly expires_in: number
  readonly refresh_token?: string
  readonly scope: string
}

export interface GrantNeeds {
  readonly news: KeyNews
  readonly refreshTokens: NumberedTokens
}

/** The name of the client, numbered where the organization has a connection of that name. Its row is locked. */
const freeName = async (db: Db, organizationId: string, name: string): Promise<string> => {
  await organizationStore(db).lock(organizationId)
  const taken = await grantStore(db).namesLike(organizationId, name)
  for (let number = 1; ; number++) {
    const candidate = number === 1 ? name : `${name} ${number}`
    if (!taken.has(candidate.toLowerCase())) return candidate
  }
}

/** The person of the connection as they are now; undefined where they could not connect it any more. */
const stillAllowed = async (db: Db, grant: GrantRow): Promise<Choice | undefined> => {
  const known = await findChoice(db, grant.user_id, grant)
  if (!known || known.rights.role === "viewer") return undefined
  const { projectIds } = known.rights
  if (projectIds && !projectIds.has(grant.project_id)) return undefined
  return grant.scopes.every(scope => canGrant(known.rights, scope)) ? known : undefined
}

export const createGrants = ({ news, refreshTokens }: GrantNeeds) => {
  const end = async (db: Db, grant: GrantRow, now: Date) => {
    await grantStore(db).update(grant.organization_id, grant.id, { revoked_at: now })
    const ids = await grantStore(db).keysOf(grant.id)
    const keys = await keyStore(db).listUnrevoked(grant.organization_id, ids)
    await revokeKeys(db, news, keys, now)
  }

  /** A new access token, with the refresh token that is valid. */
  const issue = async (db: Db, grant: GrantRow, scopes: readonly string[], now: Date) => {
    const { row, secret } = await mintKey(db, now, {
      ...unrestricted,
      organization_id: grant.organization_id,
      project_id: grant.project_id,
      type: "oauth",
      name: grant.name.slice(0, 64),
      scopes: scopes.filter(isScope),
      require_approval: true,
      created_by: grant.user_id,
      expires_at: new Date(Math.min(now.getTime() + OAUTH_ACCESS_SECONDS * 1000, grant.expires_at.getTime())),
    })
    await grantStore(db).addKey(grant.id, row.id)
    const isRenewed = grant.scopes.includes(OAUTH_OFFLINE_SCOPE)
    const issued: Issued = {
      access_token: secret,
      token_type: "Bearer",
      expires_in: Math.floor(((row.expires_at ?? now).getTime() - now.getTime()) / 1000),
      ...(isRenewed && { refresh_token: refreshTokens.write({ family: grant.id, number: grant.number }) }),
      scope: scopes.join(" "),
    }
    return { issued, row }
  }

  /** Older access tokens of the connection end soon: calls that are under way may finish. */
  const retire = async (db: Db, keys: readonly KeyRow[], now: Date) => {
    const grace_expires_at = new Date(now.getTime() + REPEAT_WINDOW_MS)
    for (const { id, organization_id, grace_expires_at: ends, created_at } of keys) {
      // One of this moment belongs to another tab that refreshed with the same token.
      if (ends || now.getTime() - created_at.getTime() < REPEAT_WINDOW_MS) continue
      await keyStore(db).update(organization_id, id, { grace_expires_at })
      await news.changes.invalidate(db, "key", id)
    }
  }

  return {
    end,

    /** What a client gets for what a person approved. The authorization is locked, and of this client. */
    async begin(db: Db, asked: AuthorizationRow, client: ClientRow, now: Date): Promise<Issued> {
      const { user_id, organization_id, project_id } = asked
      if (user_id === null || organization_id === null || project_id === null)
        throw fault("oauth_invalid_grant")
      const organization = await organizationStore(db).membership(user_id, organization_id)
      if (!organization) throw fault("oauth_invalid_grant")
      await checkRoomForKey(db, { id: organization_id, plan: organization.plan as PlanName }, now)
      const grant: GrantRow = {
        ...{ id: newId(now.getTime()), organization_id, project_id, user_id, client_id: client.id },
        name: await freeName(db, organization_id, client.name),
        scopes: asked.scopes,
        ...{ created_at: now, expires_at: new Date(now.getTime() + OAUTH_REFRESH_DAYS * DAY_MS) },
        ...{ revoked_at: null, number: 1, numbered_at: now },
      }
      if (!(await stillAllowed(db, grant))) throw fault("oauth_invalid_grant")
      await grantStore(db).insert(grant)
      await authorizationStore(db).update(asked.id, { status: "redeemed", grant_id: grant.id })
      const { issued, row } = await issue(db, grant, grant.scopes, now)
      await emitKeyEvents(db, news, "key.created", [row])
      return issued
    },

    /** Undefined where the token is not valid; the connection has ended then, where it was stolen or may not go on. */
    async refresh(
      db: Db,
      client: ClientRow,
      text: string,
      { narrowed, now }: { readonly narrowed: readonly string[] | undefined; readonly now: Date },
    ): Promise<Issued | undefined> {
      const token = refreshTokens.read(text)
      const grant = token && (await grantStore(db).lock(token.family))
      if (!grant || grant.client_id !== client.id || grant.expires_at <= now) return undefined
      if (!grant.scopes.includes(OAUTH_OFFLINE_SCOPE)) return undefined
      const judgement = judgeToken(token, grant, now.getTime())
      const ids = await grantStore(db).keysOf(grant.id)
      const keys = await keyStore(db).listUnrevoked(grant.organization_id, ids)
      const allowed =
        judgement === "reused" || keys.length < ids.length ? undefined : await stillAllowed(db, grant)
      if (!allowed) {
        await end(db, grant, now)
        return undefined
      }
      const scopes = narrowed ?? grant.scopes
      if (scopes.some(scope => !grant.scopes.includes(scope))) throw fault("oauth_invalid_scope")
      const isLive = keys.some(({ expires_at }) => expires_at === null || expires_at > now)
      if (!isLive) await checkRoomForKey(db, allowed.organization, now)
      await retire(db, keys, now)
      const renewed =
        judgement === "current" ? { ...grant, number: grant.number + 1, numbered_at: now } : grant
      await grantStore(db).update(grant.organization_id, grant.id, {
        number: renewed.number,
        numbered_at: renewed.numbered_at,
      })
      return (await issue(db, renewed, scopes, now)).issued
    },
  }
}

export type Grants = ReturnType<typeof createGrants>
