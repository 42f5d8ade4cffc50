import { AUDIT_LIMIT_DEFAULT, areas, type Output } from "@svc/contract"
import { type EventRow, readHead, toEntry } from "../../core/audit/chain.ts"
import { type AuditFilter, auditStore } from "../../core/audit/store.ts"
import type { Call } from "../../kernel/call.ts"
import { CSV_TYPE } from "../../kernel/csv.ts"
import type { Database } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { implement } from "../../kernel/implement.ts"
import type { Audit, AuditEntry } from "../../kernel/needs.ts"
import { actorOf } from "./actor.ts"
import type { Chains } from "./chains.ts"
import type { Checks } from "./checks/checks.ts"
import { exportEvents } from "./exporting.ts"
import { type GdprNeeds, gdprHandlers } from "./gdpr-handlers.ts"

type EventPayload = Output<(typeof areas.compliance.specs)["queryAudit"]>["data"][number]

export interface ComplianceNeeds extends GdprNeeds {
  readonly database: Database
  readonly audit: Pick<Audit, "append">
  readonly chains: Chains
  readonly checks: Checks
}

const toEvent = (row: EventRow): EventPayload => {
  const { actor, targets, context, metadata, outcome } = toEntry(row)
  return {
    ...{ id: row.id, sequence: row.sequence, action: row.action, occurred_at: row.occurred_at.toISOString() },
    ...{ outcome, actor, targets: [...targets], context: { ...context }, metadata: { ...metadata } },
    ...{ prev_hash: row.prev_hash.toString("hex"), hash: row.hash.toString("hex") },
  }
}

const dateOf = (name: string, time: string | undefined): Date | undefined => {
  if (time === undefined) return undefined
  const at = new Date(time)
  if (Number.isNaN(at.getTime())) throw fault("invalid_parameter", { reason: `\`${name}\` is not a time` })
  return at
}

const filterOf = ({ action, from, to }: { action?: string; from?: string; to?: string }): AuditFilter => ({
  action,
  from: dateOf("from", from),
  to: dateOf("to", to),
})

/** What is read in bulk leaves a trace, which reads otherwise do not. */
const exportEntry = (call: Call, metadata: Readonly<Record<string, unknown>>): AuditEntry => ({
  ...{ tenantId: call.organization.id, action: "data_export", occurredAt: call.now, outcome: "success" },
  actor: actorOf(call),
  targets: [{ type: "audit_log", id: call.organization.id }],
  context: {
    ...{ ip: call.ip, user_agent: call.userAgent, request_id: call.requestId },
    ...{ key_id: call.principal.key?.id ?? null, project_id: null },
  },
  metadata,
})

export const complianceHandlers = implement(areas.compliance, (needs: ComplianceNeeds) => ({
  ...gdprHandlers(needs),

  async queryAudit(input, { db, organization }) {
    const slice = { limit: input.limit ?? AUDIT_LIMIT_DEFAULT, offset: input.offset ?? 0 }
    const { rows, total } = await auditStore(db).list(organization.id, filterOf(input), slice)
    return { data: rows.map(toEvent), total, ...slice }
  },

  async exportAudit(input, call) {
    const { id: tenantId } = call.organization
    const { db } = needs.database
    const filter = filterOf(input)
    const format = input.format ?? "jsonl"
    const { sequence: upTo } = await readHead(db, tenantId)
    const asked = { format, action: input.action, from: input.from, to: input.to }
    await needs.audit.append(db, exportEntry(call, { ...asked, events_until: upTo }))
    call.setHeader("content-type", format === "csv" ? CSV_TYPE : "application/x-ndjson")
    call.setHeader("content-disposition", `attachment; filename="audit.${format}"`)
    return exportEvents(auditStore(db), { tenantId, filter, format, upTo })
  },

  async verifyAudit(_, { organization }) {
    const { valid, checked, head, firstInvalid } = await needs.chains.verify(organization.id)
    return {
      ...{ valid, checked, first_invalid: firstInvalid },
      head: { sequence: head.sequence, hash: head.hash.toString("hex") },
    }
  },

  status: (_, { organization, now }) => needs.checks.run(organization.id, now),
}))
