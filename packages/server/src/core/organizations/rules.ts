import type { Role } from "@svc/contract"
import type { Principal } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"

const LEADING: ReadonlySet<Role> = new Set(["owner", "admin"])

/** Owners and administrators run an organization; they see all of it. */
export const isLeading = (role: Role | null): boolean => role !== null && LEADING.has(role)

export const checkLeads = (role: Role | null) => {
  if (!isLeading(role)) throw fault("role_insufficient", { roles: "owner or admin" })
}

/** Only owners make or unmake owners and administrators; administrators see to members and viewers. */
export const mayManage = (actor: Role, ...concerned: readonly Role[]): boolean =>
  isLeading(actor) && (actor === "owner" || !concerned.some(isLeading))

export const checkMayManage = (actor: Role, ...concerned: readonly Role[]) => {
  checkLeads(actor)
  if (!mayManage(actor, ...concerned)) throw fault("role_insufficient", { roles: "owner" })
}

/** Projects that a member of this role is restricted to; null: all. Owners and administrators are not restricted. */
export const projectsFor = (role: Role, asked: readonly string[] | null): string[] | null => {
  if (asked === null) return null
  if (isLeading(role))
    throw fault("invalid_parameter", { reason: `a member of role ${role} sees every project` })
  return [...asked]
}

/** Refuses one more of what the plan limits. `null` is no limit. */
export const checkRoom = (limit: number | null, used: number, resource: string) => {
  if (limit === null || used < limit) return
  throw fault("plan_limit_reached", { limit, resources: limit === 1 ? resource : `${resource}s` })
}

/** Whether a membership is still the one that the principal was read with. */
export const isSameMembership = (
  { role, project_ids }: { readonly role: string; readonly project_ids: readonly string[] | null },
  principal: Pick<Principal, "role" | "projectIds">,
): boolean => {
  const known = principal.projectIds
  const isSameReach = project_ids
    ? project_ids.length === known?.size && project_ids.every(id => known.has(id))
    : known === null
  return role === principal.role && isSameReach
}

interface InvitationTimes {
  readonly accepted_at: Date | null
  readonly revoked_at: Date | null
  readonly expires_at: Date
}

export const invitationStatus = (invitation: InvitationTimes, now: Date) => {
  if (invitation.accepted_at) return "accepted"
  if (invitation.revoked_at) return "revoked"
  return invitation.expires_at <= now ? "expired" : "pending"
}

const SLUG_LENGTH_MAX = 40

/** `Müller & Söhne` → `muller-sohne`; `unnamed` when the name has nothing of the Latin alphabet. */
export const slugOf = (name: string): string =>
  name
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, SLUG_LENGTH_MAX)
    .replaceAll(/^-+|-+$/g, "") || "unnamed"
