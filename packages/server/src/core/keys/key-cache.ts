import {
  expandScopes,
  type FaultCode,
  heldMask,
  isScope,
  type KeyType,
  type PlanName,
  plans,
} from "@svc/contract"
import type { Principal } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Db } from "../../kernel/db/database.ts"
import { parseCidrs } from "../../kernel/edges/client-address.ts"
import { fault } from "../../kernel/fault.ts"
import { createPushedCache } from "../../kernel/pushed-cache.ts"
import { hasOrganizationReach } from "./rules.ts"
import { isWellFormed, secretHash } from "./secret.ts"
import { type KeyWithTenant, keyStore } from "./store.ts"

const CACHED_MAX = 20_000

/** What is known of a secret: a principal until a moment, or the fault that it earns. */
export interface CachedKey {
  readonly id: string | undefined
  readonly principal: Principal | undefined
  readonly refusal: FaultCode
  /** The moment the key stops working, by expiry or by the end of its rotation grace. */
  readonly endsAtMs: number
}

const UNKNOWN: CachedKey = { id: undefined, principal: undefined, refusal: "invalid_api_key", endsAtMs: 0 }

const toPrincipal = (row: KeyWithTenant): Principal => {
  const scopes = row.scopes.filter(isScope)
  const plan = row.organization_plan as PlanName
  return Object.freeze({
    type: "key",
    id: row.id,
    name: row.name,
    key: {
      id: row.id,
      type: row.type as KeyType,
      prefix: row.prefix,
      allowlist: row.ip_allowlist,
      expiresAt: row.expires_at,
      createdAt: row.created_at,
    },
    user:
      row.user_id === null
        ? null
        : { id: row.user_id, email: row.user_email ?? "", name: row.user_name ?? "" },
    session: null,
    organization: {
      id: row.organization_id,
      name: row.organization_name,
      plan,
      requestsPerSecond: row.requests_per_second ?? plans[plan].requests_per_second,
    },
    role: null,
    scopes,
    held: heldMask(expandScopes(scopes)),
    project: row.project_id === null ? null : { id: row.project_id, name: row.project_name ?? "" },
    projectIds: null,
    organizationReach: hasOrganizationReach(row),
    readOnly: row.read_only,
    requireApproval: row.require_approval,
    allowlist: row.ip_allowlist.length === 0 ? null : parseCidrs(row.ip_allowlist),
  } satisfies Principal)
}

const toKnown = (row: KeyWithTenant | undefined): CachedKey => {
  if (!row) return UNKNOWN
  if (row.organization_deleted_at) return { ...UNKNOWN, id: row.id }
  if (row.revoked_at || row.project_deleted_at) return { ...UNKNOWN, id: row.id, refusal: "api_key_revoked" }
  const ends = [row.expires_at, row.grace_expires_at].map(at => at?.getTime() ?? Number.POSITIVE_INFINITY)
  return { id: row.id, principal: toPrincipal(row), refusal: "api_key_expired", endsAtMs: Math.min(...ends) }
}

/** A key as the one that signs in its name knows it. */
export interface Signer {
  readonly known: CachedKey
  /** SHA-256 of the key's secret. */
  readonly secretHash: Buffer
}

const TOPICS = { key: "one", organization: "all", project: "all" } as const

/** Keys by secret. A revocation, rotation or change of scopes anywhere is heard of at once. */
export const createApiKeyCache = (db: Db, changes: Changes) => {
  const usedAtMs = new Map<string, number>()
  const known = createPushedCache<CachedKey>({
    changes,
    topics: TOPICS,
    read: async hash => toKnown(await keyStore(db).findBySecretHash(Buffer.from(hash, "base64"))),
    idOf: ({ id }) => id,
    entriesMax: CACHED_MAX,
  })
  const signers = createPushedCache<Signer | null>({
    changes,
    topics: TOPICS,
    read: async id => {
      const row = await keyStore(db).findWithTenant(id)
      return row ? { known: toKnown(row), secretHash: row.secret_hash } : null
    },
    idOf: signer => signer?.known.id,
    entriesMax: CACHED_MAX,
  })

  const admit = ({ principal, refusal, endsAtMs }: CachedKey, nowMs: number): Principal => {
    if (!principal || nowMs >= endsAtMs) throw fault(refusal)
    usedAtMs.set(principal.id, nowMs)
    return principal
  }

  return {
    /** The principal of a secret; throws the 401 that fits. */
    find(secret: string, nowMs: number): Principal | Promise<Principal> {
      if (!isWellFormed(secret)) throw fault("invalid_api_key")
      const found = known.find(secretHash(secret))
      return found instanceof Promise ? found.then(value => admit(value, nowMs)) : admit(found, nowMs)
    },

    /** What signatures in the name of a key are checked with; null when there is no such key. */
    signer: (id: string): Signer | null | Promise<Signer | null> => signers.find(id),

    /** The principal of a key whose signature was found right; throws the 401 that fits. */
    admitSigner: ({ known }: Signer, nowMs: number): Principal => admit(known, nowMs),

    /** The principal of a key by its id, from the database: for work that was put off, and must be allowed still. */
    async byId(id: string, nowMs: number): Promise<Principal> {
      return admit(toKnown(await keyStore(db).findWithTenant(id)), nowMs)
    },

    /** Writes the last-used times that gathered, in one statement; never on the request's path. */
    async flushUse(): Promise<void> {
      if (usedAtMs.size === 0) return
      const used = [...usedAtMs]
      usedAtMs.clear()
      try {
        await keyStore(db).touch(used.map(([id, ms]) => ({ id, at: new Date(ms) })))
      } catch (error) {
        for (const [id, ms] of used) if (!usedAtMs.has(id)) usedAtMs.set(id, ms)
        throw error
      }
    },
  }
}

export type ApiKeyCache = ReturnType<typeof createApiKeyCache>
