import { areas, page, pageOf } from "@svc/contract"
import { fault } from "../../kernel/fault.ts"
import { implement } from "../../kernel/implement.ts"
import { requireRow } from "../../kernel/require-row.ts"
import { lockUser } from "../accounts/signed-in-user.ts"
import { checkStepUp } from "../accounts/step-up.ts"
import type { KeyNews } from "../keys/events.ts"
import { fromKeyPolicy, toKeyPolicy } from "../keys/policy.ts"
import { checkCidrs } from "../keys/rules.ts"
import type { TenantKeys } from "../secrets/tenant-keys.ts"
import { findInstallationOrganization } from "./installation.ts"
import { invitationHandlers } from "./invitation-handlers.ts"
import { memberHandlers } from "./member-handlers.ts"
import { getMembership, lockMembership, organizationTarget, toOrganization } from "./membership.ts"
import { checkLeads, checkRoom } from "./rules.ts"
import { foundOrganization } from "./service.ts"
import { organizationStore } from "./store.ts"

/** What the Free plan limits, a person with any number of Free organizations would not feel. */
const FREE_ORGANIZATIONS_MAX = 10

interface Needs extends KeyNews {
  readonly tenantKeys: TenantKeys
}

export const organizationsHandlers = implement(
  areas.organizations,
  ({ changes, platformEvents, tenantKeys }: Needs) => {
    return {
      async list(input, { db, principal }) {
        const listed = await organizationStore(db).listMemberships(principal.id, pageOf(input))
        return page({ rows: listed.rows.map(toOrganization), total: listed.total }, input)
      },

      async create({ name }, call) {
        const { db, principal, now } = call
        await lockUser(call, db)
        checkRoom(
          FREE_ORGANIZATIONS_MAX,
          await organizationStore(db).countOwned(principal.id, "free"),
          "organization",
        )
        const { organization } = await foundOrganization(db, {
          name,
          userId: principal.id,
          plan: "free",
          now,
        })
        call.describe({ tenantId: organization.id, targets: [organizationTarget(organization)] })
        return toOrganization({ ...organization, role: "owner", project_ids: null })
      },

      async get({ org_id }, call) {
        return toOrganization(await getMembership(call, org_id))
      },

      async update({ org_id, name }, call) {
        const organization = await lockMembership(call, org_id)
        checkLeads(organization.role)
        await organizationStore(call.db).update(organization.id, { name })
        await changes.invalidate(call.db, "organization", organization.id)
        return toOrganization({ ...organization, name })
      },

      async setKeyPolicy({ org_id, ...policy }, call) {
        const organization = await lockMembership(call, org_id)
        if (organization.role !== "owner") throw fault("role_insufficient", { roles: "owner" })
        checkStepUp(call)
        checkCidrs(policy.allowed_addresses ?? [])
        const change = fromKeyPolicy(policy)
        await organizationStore(call.db).update(organization.id, change)
        call.describe({ metadata: { before: toKeyPolicy(organization), after: toKeyPolicy(change) } })
        return toOrganization({ ...organization, ...change })
      },

      async setPlan({ org_id, plan }, call) {
        const { db, organization } = call
        if (organization.id !== (await findInstallationOrganization(db)))
          throw fault("role_insufficient", {
            roles: "an owner of the organization that runs the installation",
          })
        const id = org_id.toLowerCase()
        if (!(await organizationStore(db).lock(id))) throw fault("organization_not_found")
        const before = await requireRow(organizationStore(db).find(id), "organization_not_found")
        await organizationStore(db).update(id, { plan })
        await changes.invalidate(call.db, "organization", id)
        call.describe({
          tenantId: id,
          targets: [organizationTarget(before)],
          metadata: { plan_before: before.plan, plan },
        })
        const { role: _, ...changed } = toOrganization({
          ...before,
          plan,
          role: "owner",
          project_ids: null,
        })
        return changed
      },

      async delete({ org_id }, call): Promise<undefined> {
        const organization = await lockMembership(call, org_id)
        if (organization.role !== "owner") throw fault("role_insufficient", { roles: "owner" })
        checkStepUp(call)
        await organizationStore(call.db).update(organization.id, { deleted_at: call.now })
        // Nothing brings a deleted organization back, so what was sealed for it goes with it.
        await tenantKeys.erase(call.db, organization.id)
        await changes.invalidate(call.db, "organization", organization.id)
      },

      ...memberHandlers({ changes, platformEvents }),
      ...invitationHandlers,
    }
  },
)
