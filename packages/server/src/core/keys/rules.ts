import {
  dataPlaneScopes,
  expandScopes,
  isScope,
  KEY_EXPIRY_DAYS_DEFAULT,
  type KeyType,
  roleCeiling,
  type Scope,
} from "@svc/contract"
import type { Principal } from "../../kernel/call.ts"
import { parseCidrs } from "../../kernel/edges/client-address.ts"
import { fault } from "../../kernel/fault.ts"
import type { KeyRow } from "./store.ts"

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
export const LIFETIME_MS = KEY_EXPIRY_DAYS_DEFAULT * DAY_MS
const EXPIRY_YEARS_MAX = 10

export type KeyStatus = "active" | "rotating" | "expired" | "revoked"

/** Specification 3.5. */
export const statusOf = (
  key: Pick<KeyRow, "revoked_at" | "expires_at" | "grace_expires_at">,
  now: Date,
): KeyStatus => {
  if (key.revoked_at) return "revoked"
  if ([key.expires_at, key.grace_expires_at].some(at => at !== null && at <= now)) return "expired"
  return key.grace_expires_at ? "rotating" : "active"
}

interface Expiry {
  expires_in_days?: number
  expires_at?: string
  never_expires?: boolean
}

/** When a key made now ends: as asked, else after `otherwiseMs`; null is never. */
const endOf = (asked: Expiry, now: Date, otherwiseMs: number | null): Date | null => {
  if (asked.never_expires) return null
  if (asked.expires_at !== undefined) return new Date(asked.expires_at)
  const lifetimeMs = asked.expires_in_days === undefined ? otherwiseMs : asked.expires_in_days * DAY_MS
  return lifetimeMs === null ? null : new Date(now.getTime() + lifetimeMs)
}

/** 90 days unless told (specification 5.7); at least an hour and at most ten years from now. */
export const expiryOf = (asked: Expiry, now: Date, otherwiseMs: number | null = LIFETIME_MS): Date | null => {
  const given = [asked.expires_in_days, asked.expires_at, asked.never_expires || undefined]
  if (given.filter(value => value !== undefined).length > 1) {
    throw fault("invalid_expiry", { reason: "send one of expires_in_days, expires_at and never_expires" })
  }
  const at = endOf(asked, now, otherwiseMs)
  if (at === null) return null
  if (at.getTime() < now.getTime() + HOUR_MS)
    throw fault("invalid_expiry", { reason: "it must be an hour away or more" })
  if (at.getTime() > now.getTime() + EXPIRY_YEARS_MAX * 366 * DAY_MS) {
    throw fault("invalid_expiry", { reason: `it must be at most ${EXPIRY_YEARS_MAX} years away` })
  }
  return at
}

/** What of a person says which keys they may make. */
export type Rights = Pick<Principal, "role" | "projectIds">

const knownScopes = (names: readonly string[]): Scope[] => {
  const unknown = names.filter(name => !isScope(name))
  if (unknown.length > 0) throw fault("invalid_scope", { scopes: `${unknown.join(", ")} does not exist` })
  return names.filter(isScope)
}

/** The scopes a key of this type gets (specification 5.2), never more than its creator's (5.1). */
export const scopesFor = (type: KeyType, asked: readonly string[] | undefined, creator: Rights): Scope[] => {
  if (type === "publishable" || type === "full_access") {
    if (asked !== undefined && asked.length > 0) {
      throw fault("invalid_scope", { scopes: `a key of type ${type} has fixed scopes; leave scopes out` })
    }
    const fixed = type === "publishable" ? [] : dataPlaneScopes
    return within(fixed, creator)
  }
  const scopes = knownScopes(asked ?? [])
  if (scopes.length === 0) throw fault("invalid_scope", { scopes: "name at least one" })
  return within(scopes, creator)
}

const within = (scopes: readonly Scope[], creator: Rights): Scope[] => {
  const ceiling = creator.role ? roleCeiling(creator.role) : new Set<Scope>()
  const beyond = [...expandScopes(scopes)].filter(scope => !ceiling.has(scope))
  if (beyond.length > 0) throw fault("scope_exceeds_creator", { scopes: beyond.join(", ") })
  return [...scopes]
}

/** Scopes may only shrink; those of a full access key not even that (specification 5.2). */
export const shrunkScopes = (key: Pick<KeyRow, "type" | "scopes">, asked: readonly string[]): Scope[] => {
  if (key.type === "full_access")
    throw fault("invalid_scope", { scopes: "those of a key of type full_access are fixed" })
  const had = expandScopes(key.scopes.filter(isScope))
  const scopes = knownScopes(asked)
  const added = scopes.filter(scope => !had.has(scope))
  if (added.length > 0)
    throw fault("invalid_scope", { scopes: `a key cannot gain ${added.join(", ")}; create another` })
  if (scopes.length === 0) throw fault("invalid_scope", { scopes: "name at least one, or revoke the key" })
  return scopes
}

export const checkCidrs = (cidrs: readonly string[]) => {
  for (const cidr of cidrs) {
    try {
      parseCidrs([cidr])
    } catch {
      throw fault("invalid_cidr", { value: cidr })
    }
  }
}

const MANAGERS = new Set(["owner", "admin"])

/** Who may touch this key: owners and admins any, members their own and those of their projects, viewers none. */
export const checkMayManage = (principal: Principal, key: Pick<KeyRow, "project_id" | "created_by">) => {
  if (principal.role !== null && MANAGERS.has(principal.role)) return
  if (principal.role !== "member") throw fault("role_insufficient", { roles: "owner, admin or member" })
  const inReach = key.project_id !== null && (principal.projectIds?.has(key.project_id) ?? true)
  if (key.created_by !== principal.user?.id && !inReach)
    throw fault("role_insufficient", { roles: "owner or admin" })
}

/** Whether the key changes what belongs to the whole organization. */
export const hasOrganizationReach = (key: Pick<KeyRow, "project_id" | "organization_reach">): boolean =>
  key.project_id === null || key.organization_reach

/** Keys with the organization's reach are for owners and admins (specification 5.1); a restricted member stays in its projects. */
export const checkMayCreate = (principal: Rights, key: Pick<KeyRow, "project_id" | "organization_reach">) => {
  const projectId = key.project_id
  if (principal.role === "viewer" || principal.role === null)
    throw fault("role_insufficient", { roles: "owner, admin or member" })
  if (hasOrganizationReach(key) && !MANAGERS.has(principal.role)) throw fault("org_wide_key_forbidden")
  if (projectId !== null && principal.projectIds && !principal.projectIds.has(projectId)) {
    throw fault("project_not_in_organization")
  }
}

/** Rotating a key shows its new secret, so it needs the same permissions as creating the key. */
export const checkMayRotate = (
  principal: Principal,
  key: Pick<KeyRow, "project_id" | "organization_reach" | "scopes">,
) => {
  checkMayCreate(principal, key)
  within(key.scopes.filter(isScope), principal)
}
