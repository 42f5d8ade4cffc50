import { sql } from "kysely"
import type { Database } from "../../../kernel/db/database.ts"
import type { Chains } from "../chains.ts"
import type { Check } from "./check.ts"

export interface AuditCheckNeeds {
  readonly database: Database
  readonly chains: Chains
}

/** Whether the trigger that refuses changes of the log is there and fires. */
const isAppendOnly = async ({ db }: Database): Promise<boolean> => {
  const { rows } = await sql<{ enabled: boolean }>`
    SELECT tgenabled IN ('O', 'A') AS enabled FROM pg_trigger
    WHERE tgrelid = 'core.audit_events'::regclass AND tgname = 'audit_events_append_only'`.execute(db)
  return rows[0]?.enabled === true
}

/** Whether the platform's own connection could take that trigger away. */
const mayUndo = async ({ db }: Database): Promise<boolean> => {
  const { rows } = await sql<{ may: boolean }>`
    SELECT rolsuper OR pg_has_role(current_user, relowner, 'USAGE') AS may
    FROM pg_roles, pg_class WHERE rolname = current_user AND pg_class.oid = 'core.audit_events'::regclass`.execute(
    db,
  )
  return rows[0]?.may === true
}

export const auditChecks = ({ database, chains }: AuditCheckNeeds): Check[] => [
  {
    ...{ id: "audit_chain", category: "audit", severity: "critical" },
    name: "The audit log is whole and unchanged",
    async look(organizationId) {
      const { valid, checked, firstInvalid, at } = await chains.recent(organizationId)
      if (valid) return { status: "pass", message: `${checked} events were verified.`, at }
      return {
        ...{ status: "fail", message: `Event ${firstInvalid} does not continue the chain.`, at },
        remedy: "Compare with an earlier export; `svc compliance verify-audit` reads the chain again.",
        failing: [{ type: "audit_event", id: String(firstInvalid) }],
      }
    },
  },
  {
    ...{ id: "audit_append_only", category: "audit", severity: "critical" },
    name: "The database refuses to change the audit log",
    look: async () =>
      (await isAppendOnly(database))
        ? { status: "pass", message: "Its trigger refuses changes and deletions." }
        : {
            ...{ status: "fail", message: "The trigger that refuses changes is gone or disabled." },
            remedy: "Enable the trigger audit_events_append_only of core.audit_events again.",
          },
  },
  {
    ...{ id: "audit_separation", category: "audit", severity: "low" },
    name: "The platform's database role cannot undo the protection of the audit log",
    look: async () =>
      (await mayUndo(database))
        ? {
            ...{
              status: "warn",
              message: "The platform's role owns the table, and could disable its trigger.",
            },
            remedy:
              "Keep the hash that `svc compliance verify-audit` prints outside of this machine: it proves later that nothing was rewritten.",
          }
        : { status: "pass", message: "The role neither owns the table nor is a superuser." },
  },
]
