import { mutates, type Reply } from "@svc/contract"
import type { AuditNote } from "../call.ts"
import type { Database, Db } from "../db/database.ts"
import { type Exchange, type Stage, userAgentOf } from "../exchange.ts"
import { createCall } from "../exchange-call.ts"
import { Fault } from "../fault.ts"
import type { Audit, AuditEntry, Meters } from "../needs.ts"

const isReply = (result: unknown): result is Reply =>
  typeof result === "object" && result !== null && "status" in result && "body" in result

/** An operation with one success status returns the payload; with several, `reply(status, payload)`. */
const toReply = ({ bound, operation }: Exchange, result: unknown): Reply => {
  if (bound.status !== null) return { status: bound.status, body: result }
  return isReply(result) ? result : { status: Number(Object.keys(operation.replies)[0]), body: result }
}

const ACTORS = { key: "api_key", session: "user", end_user: "end_user", anonymous: "user" } as const

export const auditEntry = (
  exchange: Exchange,
  outcome: AuditEntry["outcome"],
  metadata: object = {},
): AuditEntry => {
  const { operation, principal, incoming, note } = exchange
  return {
    tenantId: note.tenantId ?? exchange.organization?.id ?? principal.user?.id ?? "",
    action: note.action ?? operation.action ?? operation.name,
    occurredAt: new Date(exchange.nowMs),
    outcome,
    actor: { type: ACTORS[principal.type], id: principal.id, name: principal.name },
    targets: note.targets ?? [],
    context: {
      ip: incoming.ip,
      user_agent: userAgentOf(incoming),
      request_id: exchange.requestId,
      key_id: principal.key?.id ?? null,
      project_id: exchange.project?.id ?? null,
      ...(incoming.approvalId && { approval_id: incoming.approvalId }),
    },
    metadata: { ...note.metadata, ...metadata },
  }
}

const append = async (
  audit: Audit,
  db: Db,
  exchange: Exchange,
  outcome: AuditEntry["outcome"],
  metadata?: object,
) => {
  const entry = auditEntry(exchange, outcome, metadata)
  // The failed sign-up of an anonymous caller belongs to no tenant; the log and the meters have it.
  if (entry.tenantId !== "") await audit.append(db, entry)
}

/** How the transaction ended is settled by now, so what fails here must not change the answer. */
const runAfter = async ({ log, requestId }: Exchange, acts: readonly (() => void | Promise<void>)[]) => {
  for (const act of acts) {
    try {
      await act()
    } catch (error) {
      log.error({ request_id: requestId, err: error }, "action after commit failed")
    }
  }
}

interface PerformNeeds {
  readonly database: Database
  readonly audit: Audit
  readonly meters: Meters
}

/** Runs the handler, and records what it did together with its effect. */
export const perform = ({ database, audit, meters }: PerformNeeds): Stage => {
  const finish = (exchange: Exchange, reply: Reply): Reply => {
    for (const metric of exchange.operation.meters ?? []) meters.add(exchange, metric, 1)
    for (const [metric, quantity] of exchange.meters) meters.add(exchange, metric, quantity)
    if (exchange.operation.audit === "rollup" && mutates(exchange.operation)) {
      const entry = auditEntry(exchange, "success")
      // What belongs to no tenant could never be written, and would be tried again every second.
      if (entry.tenantId !== "") audit.count(entry)
    }
    return reply
  }

  /** Reads, and data-plane writes whose engine commits by itself: no statement of ours stands in the way. */
  const direct = (exchange: Exchange): Reply | Promise<Reply> => {
    const result = exchange.bound.handler(exchange.input, createCall(exchange, database.db))
    if (!(result instanceof Promise)) return finish(exchange, toReply(exchange, result))
    return result.then(value => finish(exchange, toReply(exchange, value)))
  }

  /** Effect, audit entry and replay record commit together, or none of them does. */
  const atomic = async (exchange: Exchange): Promise<Reply> => {
    const transaction = database.transaction(async tx => {
      const result = await exchange.bound.handler(exchange.input, createCall(exchange, tx))
      const settled = toReply(exchange, result)
      await append(audit, tx, exchange, "success")
      await exchange.replay?.settle(tx, settled)
      return settled
    })
    const reply = await transaction.catch(async error => {
      await runAfter(exchange, exchange.rollbacks)
      throw error
    })
    if (exchange.replay) exchange.replay.settled = true
    await runAfter(exchange, exchange.commits)
    return finish(exchange, reply)
  }

  const record = (exchange: Exchange, outcome: AuditEntry["outcome"], metadata?: object) =>
    append(audit, database.db, exchange, outcome, metadata)

  /** The effect is there already: that it cannot be recorded must not make the caller believe that it is not. */
  const recordResult = (exchange: Exchange, outcome: AuditEntry["outcome"], metadata?: object) =>
    record(exchange, outcome, metadata).catch(error => {
      exchange.log.error(
        { request_id: exchange.requestId, err: error },
        "writing the result of an operation to the audit trail failed",
      )
    })

  /** An effect outside the database: its intent is on record before, its result after. */
  const recorded = async (exchange: Exchange): Promise<Reply> => {
    await record(exchange, "intent")
    let result: unknown
    try {
      result = await exchange.bound.handler(exchange.input, createCall(exchange, database.db))
    } catch (error) {
      const code = error instanceof Fault ? error.publicCode : "internal_error"
      const recorded = recordResult(exchange, "failure", { code })
      // Response times must not reveal to an anonymous caller whether an account, and so an audit trail, exists.
      if (exchange.operation.scope !== "public") await recorded
      throw error
    }
    await recordResult(exchange, "success")
    await runAfter(exchange, exchange.commits)
    return finish(exchange, toReply(exchange, result))
  }

  const run = (exchange: Exchange): Reply | Promise<Reply> => {
    if (exchange.bound.atomic) return atomic(exchange)
    return mutates(exchange.operation) && exchange.operation.audit === "each"
      ? recorded(exchange)
      : direct(exchange)
  }

  return run
}

export const emptyNote: AuditNote = Object.freeze({})
