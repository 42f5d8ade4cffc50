import { areas, page, pageOf } from "@svc/contract"
import { isLeading } from "../../core/organizations/rules.ts"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { implement } from "../../kernel/implement.ts"
import type { Grants } from "./grants.ts"
import { grantStore } from "./store.ts"
import { endOf } from "./tokens.ts"

/** Whose connections the caller sees: all of the organization, or their own. */
const ownerOf = ({ role, id }: Call["principal"]): string | null => (isLeading(role) ? null : id)

export const connectedHandlers = implement(
  areas.connectedApps,
  ({ grants }: { readonly grants: Grants }) => ({
    async list(input, { db, organization, principal, now }) {
      const filter = { userId: ownerOf(principal), now, ...pageOf(input) }
      const { rows, total } = await grantStore(db).list(organization.id, filter)
      const data = rows.map(row => ({
        name: row.name,
        client_id: row.client_id,
        scopes: row.scopes,
        project_id: row.project_id,
        granted_by: row.email === null ? null : { id: row.user_id, email: row.email },
        granted_at: row.created_at.toISOString(),
        last_used_at: row.last_used_at?.toISOString() ?? null,
        expires_at: row.expires_at.toISOString(),
      }))
      return page({ rows: data, total }, input)
    },

    async disconnect({ name }, call) {
      const grant = await grantStore(call.db).lockByName(call.organization.id, name)
      const owner = ownerOf(call.principal)
      if (!grant || (owner !== null && grant.user_id !== owner))
        throw fault("connected_app_not_found", { name })
      await grants.end(call.db, grant, call.now)
      call.describe(endOf(grant))
    },
  }),
)
