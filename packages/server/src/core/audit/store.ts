import type { Db } from "../../kernel/db/database.ts"
import { listRows, type Slice } from "../../kernel/db/listing.ts"
import type { EventRow } from "./chain.ts"

export interface AuditFilter {
  readonly action?: string | undefined
  readonly from?: Date | undefined
  /** Not included. */
  readonly to?: Date | undefined
}

/** Entries of core.audit_events, read. Writing is the trail's alone. */
export const auditStore = (db: Db) => {
  const events = (tenantId: string, { action, from, to }: AuditFilter) => {
    let rows = db.selectFrom("core.audit_events").selectAll().where("tenant_id", "=", tenantId)
    if (action !== undefined) rows = rows.where("action", "=", action)
    if (from) rows = rows.where("occurred_at", ">=", from)
    if (to) rows = rows.where("occurred_at", "<", to)
    return rows
  }

  return {
    /** The newest first. */
    list: (
      tenantId: string,
      filter: AuditFilter,
      slice: Slice,
    ): Promise<{ rows: EventRow[]; total: number }> =>
      listRows(events(tenantId, filter).orderBy("sequence", "desc"), slice),

    /** The oldest first: those behind one number, up to another. */
    after: (
      tenantId: string,
      filter: AuditFilter,
      { after, upTo, limit }: { readonly after: number; readonly upTo: number; readonly limit: number },
    ): Promise<EventRow[]> =>
      events(tenantId, filter)
        .where("sequence", ">", after)
        .where("sequence", "<=", upTo)
        .orderBy("sequence")
        .limit(limit)
        .execute(),
  }
}
