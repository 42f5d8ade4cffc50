import { createHash } from "node:crypto"
import { type Selectable, sql } from "kysely"
import { canonicalJson } from "../../kernel/canonical-json.ts"
import type { Db } from "../../kernel/db/database.ts"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import { newId } from "../../kernel/id.ts"
import type { AuditEntry } from "../../kernel/needs.ts"

const START = Buffer.alloc(0)
const VERIFY_PAGE = 1000

export type HashedEntry = AuditEntry & { readonly sequence: number; readonly id: string }

/** What of an entry is hashed, as the text that is. */
export const hashedText = (entry: HashedEntry): string =>
  canonicalJson({
    tenant_id: entry.tenantId,
    sequence: entry.sequence,
    id: entry.id,
    action: entry.action,
    occurred_at: entry.occurredAt.toISOString(),
    outcome: entry.outcome,
    actor: entry.actor,
    targets: entry.targets,
    context: entry.context,
    metadata: entry.metadata,
  })

/** SHA-256 of the hash before and the canonical JSON of the entry: no entry can change, go or move unseen. */
export const entryHash = (before: Buffer, entry: HashedEntry): Buffer =>
  createHash("sha256").update(before).update(hashedText(entry)).digest()

/**
 * Appends to the tenant's chain, in a transaction. The row of the head is the lock: two entries of one tenant take
 * turns, and the lock is taken last in a transaction, just before it commits.
 */
export const appendEntry = async (db: Db, entry: AuditEntry): Promise<void> => {
  const head = await db
    .insertInto("core.audit_heads")
    .values({ tenant_id: entry.tenantId, sequence: 0, hash: START })
    // Changes nothing, but locks the row and gives it back in the same round trip.
    .onConflict(conflict => conflict.column("tenant_id").doUpdateSet({ tenant_id: entry.tenantId }))
    .returning(["sequence", "hash"])
    .executeTakeFirstOrThrow()
  const sequence = head.sequence + 1
  const id = newId(entry.occurredAt.getTime())
  const hash = entryHash(head.hash, { ...entry, sequence, id })
  await sql`
    WITH head AS (
      UPDATE core.audit_heads SET sequence = ${sequence}, hash = ${hash} WHERE tenant_id = ${entry.tenantId}
    )
    INSERT INTO core.audit_events
      (tenant_id, sequence, id, action, occurred_at, outcome, actor, targets, context, metadata, prev_hash, hash)
    VALUES (${entry.tenantId}, ${sequence}, ${id}, ${entry.action}, ${entry.occurredAt}, ${entry.outcome},
      ${JSON.stringify(entry.actor)}, ${JSON.stringify(entry.targets)}, ${JSON.stringify(entry.context)},
      ${JSON.stringify(entry.metadata)}, ${head.hash}, ${hash})`.execute(db)
}

export interface ChainCheck {
  readonly valid: boolean
  readonly checked: number
  /** The sequence number at which the chain first fails; null when it holds. */
  readonly firstInvalid: number | null
}

export type EventRow = Selectable<Tables["core.audit_events"]>

export const toEntry = (row: EventRow): HashedEntry => ({
  tenantId: row.tenant_id,
  sequence: row.sequence,
  id: row.id,
  action: row.action,
  occurredAt: row.occurred_at,
  outcome: row.outcome as AuditEntry["outcome"],
  actor: row.actor as AuditEntry["actor"],
  targets: row.targets as AuditEntry["targets"],
  context: row.context as AuditEntry["context"],
  metadata: row.metadata as AuditEntry["metadata"],
})

/** Recomputes a tenant's chain from its first entry to its head, as both stand at one moment. */
export const verifyChain = async (db: Db, tenantId: string): Promise<ChainCheck> => {
  const { valid, checked, firstInvalid } = await inspectChain(db, tenantId)
  return { valid, checked, firstInvalid }
}

/** The same, and where the chain ends. */
export const inspectChain = (db: Db, tenantId: string): Promise<ChainCheck & { readonly head: ChainHead }> =>
  db
    .transaction()
    .setIsolationLevel("repeatable read")
    .setAccessMode("read only")
    .execute(async snapshot => {
      const head = await readHead(snapshot, tenantId)
      return { ...(await verify(snapshot, tenantId, head)), head }
    })

export interface ChainHead {
  readonly sequence: number
  readonly hash: Buffer
}

export const readHead = async (db: Db, tenantId: string): Promise<ChainHead> =>
  (await db
    .selectFrom("core.audit_heads")
    .select(["sequence", "hash"])
    .where("tenant_id", "=", tenantId)
    .executeTakeFirst()) ?? { sequence: 0, hash: START }

const verify = async (db: Db, tenantId: string, head: ChainHead): Promise<ChainCheck> => {
  let hash: Buffer = START
  let sequence = 0
  for (;;) {
    const rows = await db
      .selectFrom("core.audit_events")
      .selectAll()
      .where("tenant_id", "=", tenantId)
      .where("sequence", ">", sequence)
      .orderBy("sequence")
      .limit(VERIFY_PAGE)
      .execute()
    for (const row of rows) {
      const follows = row.sequence === sequence + 1 && hash.equals(row.prev_hash)
      hash = entryHash(hash, toEntry(row))
      if (!follows || !hash.equals(row.hash)) {
        return { valid: false, checked: sequence, firstInvalid: sequence + 1 }
      }
      sequence = row.sequence
    }
    if (rows.length < VERIFY_PAGE) break
  }
  // Entries cut off the end leave a shorter chain that is consistent in itself; the head still knows its length.
  const whole = head.sequence === sequence && head.hash.equals(hash)
  return { valid: whole, checked: sequence, firstInvalid: whole ? null : sequence + 1 }
}
