import {
  areas,
  isScope,
  KEY_ROTATION_GRACE_SECONDS_DEFAULT,
  type KeyType,
  type Output,
  page,
  pageOf,
} from "@svc/contract"
import type { Call, Principal } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { implement } from "../../kernel/implement.ts"
import { requireRow } from "../../kernel/require-row.ts"
import { toIso } from "../../kernel/to-iso.ts"
import { projectStore } from "../organizations/project-store.ts"
import { isSameMembership } from "../organizations/rules.ts"
import { organizationStore } from "../organizations/store.ts"
import { emitKeyEvents, type KeyNews } from "./events.ts"
import { mintKey } from "./mint.ts"
import {
  brokenRules,
  checkAddresses,
  checkPolicy,
  type KeyPolicy,
  lifetimeUnder,
  toKeyPolicy,
} from "./policy.ts"
import { revokeKeys } from "./revoke.ts"
import { checkRoomForKey } from "./room.ts"
import {
  checkCidrs,
  checkMayCreate,
  checkMayManage,
  checkMayRotate,
  expiryOf,
  hasOrganizationReach,
  LIFETIME_MS,
  scopesFor,
  shrunkScopes,
  statusOf,
} from "./rules.ts"
import { type KeyRecord, type KeyRow, keyStore } from "./store.ts"

type KeyPayload = Output<(typeof areas.keys.specs)["get"]>

const toKey = (row: KeyRecord, policy: KeyPolicy, now: Date): KeyPayload => ({
  id: row.id,
  name: row.name,
  type: row.type as KeyType,
  prefix: row.prefix,
  scopes: row.scopes.filter(isScope),
  organization_id: row.organization_id,
  project_id: row.project_id,
  organization_reach: hasOrganizationReach(row),
  read_only: row.read_only,
  ip_allowlist: row.ip_allowlist,
  require_approval: row.require_approval,
  status: statusOf(row, now),
  created_by: row.created_by && row.creator_email ? { id: row.created_by, email: row.creator_email } : null,
  created_at: row.created_at.toISOString(),
  expires_at: toIso(row.expires_at),
  last_used_at: toIso(row.last_used_at),
  rotated_from_id: row.rotated_from_id,
  grace_expires_at: toIso(row.grace_expires_at),
  revoked_at: toIso(row.revoked_at),
  policy_violations: brokenRules(policy, row),
})

const policyOf = async ({ db, organization }: Call): Promise<KeyPolicy> =>
  toKeyPolicy(await requireRow(organizationStore(db).find(organization.id), "organization_not_found"))

/** A member who is restricted to projects sees the keys of these alone. */
const isInReach = ({ projectIds }: Principal, { project_id }: Pick<KeyRow, "project_id">): boolean =>
  !projectIds || projectIds.has(project_id ?? "")

const getKey = async ({ db, organization, principal }: Call, id: string): Promise<KeyRecord> => {
  const key = await keyStore(db).findForUpdate(organization.id, id)
  if (!key || !isInReach(principal, key)) throw fault("key_not_found")
  checkMayManage(principal, key)
  return key
}

const notByHand = () => fault("invalid_parameter", { reason: "keys of type oauth come from a consent" })

const target = ({ id, name }: Pick<KeyRow, "id" | "name">) => ({ type: "api_key", id, name })

/**
 * Refuses who was removed or changed since the request began, and makes later changes wait: they have to find the new key,
 * to end it.
 */
const checkStillMember = async ({ db, organization, principal }: Call) => {
  const member = await organizationStore(db).lockMember(organization.id, principal.id)
  if (!member) throw fault("tenant_mismatch")
  if (!isSameMembership(member, principal))
    throw fault("role_insufficient", { roles: "the membership as it was when the request began" })
}

export const keysHandlers = implement(areas.keys, (news: KeyNews) => {
  const { changes } = news

  const revoke = async (input: { id: string; cascade?: boolean }, call: Call) => {
    const { db, organization, now } = call
    const key = await getKey(call, input.id)
    if (key.revoked_at) throw fault("key_already_revoked")
    const pair = input.cascade ? await keyStore(db).relatives(organization.id, key) : []
    const ended = [key, ...pair]
    await revokeKeys(db, news, ended, now)
    const others = pair.map(({ id }) => ({ type: "api_key", id }))
    call.describe({ action: "api_key_revoked", targets: [target(key), ...others] })
    return toKey({ ...key, revoked_at: now }, await policyOf(call), now)
  }

  return {
    async list(input, call) {
      const { db, organization, principal, now } = call
      const policy = await policyOf(call)
      const listed = await keyStore(db).list(organization.id, {
        projectIds: principal.projectIds,
        projectId: input.project_id,
        status: input.status,
        now,
        ...pageOf(input),
      })
      return page({ rows: listed.rows.map(row => toKey(row, policy, now)), total: listed.total }, input)
    },

    async create(input, call) {
      const { organization, principal, now } = call
      const project_id = input.project_id?.toLowerCase() ?? null
      if (input.type === "oauth") throw notByHand()
      const organization_reach = input.organization_reach ?? false
      checkMayCreate(principal, { project_id, organization_reach })
      if (input.type === "publishable" && project_id === null) throw fault("project_required")
      // Not from the cache: a transaction that waits for another connection can wait for itself.
      if (project_id !== null && !(await projectStore(call.db).find(organization.id, project_id))) {
        throw fault("project_not_in_organization")
      }
      checkCidrs(input.ip_allowlist ?? [])
      const scopes = scopesFor(input.type, input.scopes, principal)
      // A publishable key is no secret, so nothing is gained by its end.
      const isSecret = input.type !== "publishable"
      const policy = await policyOf(call)
      const expires_at = expiryOf(input, now, isSecret ? lifetimeUnder(policy, LIFETIME_MS) : null)
      const ip_allowlist = input.ip_allowlist ?? (isSecret ? policy.allowed_addresses : [])
      checkPolicy(policy, { type: input.type, expires_at, ip_allowlist }, now)
      if (isSecret) await checkRoomForKey(call.db, organization, now)
      await checkStillMember(call)

      const { row, secret } = await mintKey(call.db, now, {
        organization_id: organization.id,
        project_id,
        organization_reach,
        type: input.type,
        name: input.name,
        scopes,
        read_only: input.read_only ?? (isSecret && policy.read_only),
        require_approval: input.require_approval ?? (isSecret && policy.require_approval),
        ip_allowlist,
        created_by: principal.user?.id ?? null,
        expires_at,
        last_used_at: null,
        rotated_from_id: null,
        grace_expires_at: null,
        revoked_at: null,
      })
      await emitKeyEvents(call.db, news, "key.created", [row])
      call.describe({ action: "api_key_created", targets: [target(row)] })
      return { ...toKey({ ...row, creator_email: principal.user?.email ?? null }, policy, now), secret }
    },

    async get({ id }, call) {
      const { db, organization, principal, now } = call
      const key = await keyStore(db).find(organization.id, id)
      if (!key || !isInReach(principal, key)) throw fault("key_not_found")
      return toKey(key, await policyOf(call), now)
    },

    async update({ id, scopes, ...input }, call) {
      const key = await getKey(call, id)
      if (key.revoked_at) throw fault("key_already_revoked")
      if (input.read_only === false && key.read_only)
        throw fault("invalid_parameter", { reason: "read_only cannot be turned off" })
      if (input.require_approval === false && key.require_approval) {
        throw fault("invalid_parameter", { reason: "require_approval cannot be turned off" })
      }
      const policy = await policyOf(call)
      if (input.ip_allowlist) {
        checkCidrs(input.ip_allowlist)
        checkAddresses(policy, { type: key.type, ip_allowlist: input.ip_allowlist })
      }
      const change: Partial<KeyRow> = {
        ...input,
        ...(scopes && { scopes: shrunkScopes(key, scopes) }),
      }
      if (Object.keys(change).length > 0) await keyStore(call.db).update(call.organization.id, key.id, change)
      await changes.invalidate(call.db, "key", key.id)
      call.describe({
        action: "api_key_updated",
        targets: [target(key)],
        metadata: { fields: Object.keys(change) },
      })
      return toKey({ ...key, ...change }, policy, call.now)
    },

    async rotate({ id, ...input }, call) {
      const { db, organization, principal, now } = call
      // Before the key is locked: a removal locks the membership first, too.
      await checkStillMember(call)
      const old = await getKey(call, id)
      if (old.type === "oauth") throw notByHand()
      checkMayRotate(principal, old)
      if (old.revoked_at) throw fault("key_already_revoked")
      if (old.grace_expires_at) throw fault("key_already_rotated")
      if (statusOf(old, now) === "expired")
        throw fault("invalid_expiry", { reason: "the key has expired; create another" })
      const { creator_email: _, ...facts } = old
      const policy = await policyOf(call)
      // Unless told, the replacement lives as long as the old key was made to, and the policy lets it.
      const usualMs = old.expires_at && old.expires_at.getTime() - old.created_at.getTime()
      const otherwiseMs = old.type === "publishable" ? usualMs : lifetimeUnder(policy, usualMs)
      const expires_at = expiryOf(input, now, otherwiseMs)
      checkPolicy(policy, { ...facts, expires_at }, now)
      const { row, secret } = await mintKey(db, now, {
        ...facts,
        expires_at,
        created_by: principal.user?.id ?? null,
        last_used_at: null,
        rotated_from_id: old.id,
      })
      const graceMs = (input.grace_period_seconds ?? KEY_ROTATION_GRACE_SECONDS_DEFAULT) * 1000
      await keyStore(db).update(organization.id, old.id, {
        grace_expires_at: new Date(now.getTime() + graceMs),
      })
      await changes.invalidate(call.db, "key", old.id)
      await emitKeyEvents(db, news, "key.rotated", [row])
      call.describe({ action: "api_key_rotated", targets: [target(old), target(row)] })
      return { ...toKey({ ...row, creator_email: principal.user?.email ?? null }, policy, now), secret }
    },

    revoke,
    delete: revoke,
  }
})
