import { heldMask, type PlanName, plans, type Role, roleCeiling, roles } from "@svc/contract"
import type { Principal } from "../../kernel/call.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { isUuid } from "../../kernel/id.ts"
import { forgetFailures } from "../credentials/failure-store.ts"
import { type MembershipRow, organizationStore } from "../organizations/store.ts"
import { forgetUnfinished } from "./factor-store.ts"
import { resetStore } from "./reset-store.ts"
import { isLive, RESETS_KEPT_MS, SESSION_IDLE_MS, SIGNUP_LIFETIME_MS } from "./rules.ts"
import { SESSION_PREFIX } from "./service.ts"
import { signupStore } from "./signup-store.ts"
import { sourceStore } from "./source-store.ts"
import { accountStore, type SessionWithUser } from "./store.ts"
import { tokenHash } from "./token.ts"

const TOKEN = new RegExp(`^${SESSION_PREFIX}[A-Za-z0-9_-]{43}$`)
/** How exact `last_used_at` is: a write for every request would cost more than it tells. */
const TOUCH_EVERY_MS = 60_000

const DAY_MS = 24 * 3_600_000
/** Failures this long apart are not in a row. */
const FAILURES_KEPT_MS = DAY_MS
const SOURCES_KEPT_MS = 180 * DAY_MS
const UNVERIFIED_FACTORS_KEPT_MS = DAY_MS

const scopesOf = (role: Role) => {
  const scopes = Object.freeze([...roleCeiling(role)])
  return { scopes, held: heldMask(scopes) }
}
const ceilings = Object.fromEntries(roles.map(role => [role, scopesOf(role)])) as Record<
  Role,
  ReturnType<typeof scopesOf>
>
const nothing = { scopes: Object.freeze([]), held: heldMask([]) }

/** What the person may do in the organization that this request acts in; nothing without one. */
const inOrganization = (membership: MembershipRow | undefined) => {
  if (!membership)
    return { organization: null, role: null, projectIds: null, organizationReach: false, ...nothing }
  const plan = membership.plan as PlanName
  const role = membership.role as Role
  return {
    organization: {
      id: membership.id,
      name: membership.name,
      plan,
      requestsPerSecond: membership.requests_per_second ?? plans[plan].requests_per_second,
    },
    role,
    projectIds: membership.project_ids && new Set(membership.project_ids),
    organizationReach: membership.project_ids === null,
    ...ceilings[role],
  }
}

const toPrincipal = (session: SessionWithUser, membership: MembershipRow | undefined): Principal =>
  Object.freeze({
    type: "session",
    id: session.user_id,
    name: session.user_email,
    key: null,
    user: { id: session.user_id, email: session.user_email, name: session.user_name },
    session: { id: session.id, authenticatedAt: session.authenticated_at },
    project: null,
    readOnly: false,
    requireApproval: false,
    allowlist: null,
    ...inOrganization(membership),
  } satisfies Principal)

/** Console sessions, read anew for every request: an ended session or membership has no effect a moment later. */
export const createSessions = (db: Db) => {
  const membershipOf = async (
    userId: string,
    organizationId: string | undefined,
    projectId: string | undefined,
  ) => {
    const store = organizationStore(db)
    if (organizationId === undefined) {
      return await store.defaultMembership(
        userId,
        projectId !== undefined && isUuid(projectId) ? projectId : null,
      )
    }
    const named = isUuid(organizationId) ? await store.membership(userId, organizationId) : undefined
    if (!named) throw fault("tenant_mismatch")
    return named
  }

  return {
    /**
     * The principal of a session's token. It acts in the organization that is named, else in that of the project named,
     * else in the first that its user joined. Throws `session_expired`, and `tenant_mismatch` for another's organization.
     */
    async find(
      token: string,
      organizationId: string | undefined,
      projectId: string | undefined,
      nowMs: number,
    ): Promise<Principal> {
      if (!TOKEN.test(token)) throw fault("session_expired")
      const session = await accountStore(db).findSession(tokenHash(token))
      if (!session || !isLive(session, nowMs)) throw fault("session_expired")
      const membership = await membershipOf(session.user_id, organizationId, projectId)
      if (nowMs - session.last_used_at.getTime() >= TOUCH_EVERY_MS) {
        await accountStore(db).updateSession(session.id, { last_used_at: new Date(nowMs) })
      }
      return toPrincipal(session, membership)
    },

    /** Deletes expired sessions, old failures, networks without recent sign-ins, and sign-ups, resets, sign-ins and factors that were not completed. */
    async prune(nowMs: number): Promise<void> {
      const before = (ms: number) => new Date(nowMs - ms)
      await forgetFailures(db, before(FAILURES_KEPT_MS), new Date(nowMs))
      await sourceStore(db).forget(before(SOURCES_KEPT_MS))
      await signupStore(db).forget(before(SIGNUP_LIFETIME_MS))
      await resetStore(db).forget(before(RESETS_KEPT_MS))
      await forgetUnfinished(db, before(UNVERIFIED_FACTORS_KEPT_MS), new Date(nowMs))
      await accountStore(db).deleteSessionsEndedBy(new Date(nowMs), new Date(nowMs - SESSION_IDLE_MS))
    },
  }
}

export type Sessions = ReturnType<typeof createSessions>
