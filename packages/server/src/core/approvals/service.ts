import { createHash } from "node:crypto"
import { type areas, type Output, type Reply, reply } from "@svc/contract"
import { canonicalJson } from "../../kernel/canonical-json.ts"
import type { Database } from "../../kernel/db/database.ts"
import type { InProcessCaller } from "../../kernel/edges/in-process.ts"
import { parseJson } from "../../kernel/exact-json.ts"
import type { Exchange } from "../../kernel/exchange.ts"
import { Fault, fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Approvals, Audit, Projects } from "../../kernel/needs.ts"
import { auditEntry } from "../../kernel/stages/perform.ts"
import { toIso } from "../../kernel/to-iso.ts"
import type { ApiKeyCache } from "../keys/key-cache.ts"
import { keyStore } from "../keys/store.ts"
import type { SecretBox } from "../secrets/secret-box.ts"
import { type ApprovalRecord, type ApprovalRow, type ApprovalStatus, approvalStore } from "./store.ts"

export type ApprovalPayload = Output<(typeof areas.approvals.specs)["get"]>

const TTL_MS = 24 * 3600 * 1000
const PENDING_MAX = 100
const POLL_SECONDS = 5
/** An execution that took longer than this lost its process. */
const ABANDONED_MS = 60_000

interface Needs {
  readonly database: Database
  readonly box: SecretBox
  readonly audit: Audit
  readonly keyCache: ApiKeyCache
  readonly projects: Projects
}

interface SealedRequest {
  readonly operation: string
  readonly input: Readonly<Record<string, unknown>>
  /** What the person who decides is shown of the input. */
  readonly detail: string | undefined
}

const requestContext = (id: string) => `approval-request:${id}`
const resultContext = (id: string) => `approval-result:${id}`

/** Requests that wait for a person, and their one execution after the yes. */
export const createApprovals = ({ database, box, audit, keyCache, projects }: Needs) => {
  const openRequest = async (row: ApprovalRow): Promise<SealedRequest> =>
    parseJson(
      await box.open(row.organization_id, requestContext(row.id), row.sealed_request),
    ) as SealedRequest

  /** A request that does not open any more never runs; its record is shown all the same. */
  const detailOf = (row: ApprovalRow): Promise<string | null> =>
    openRequest(row).then(
      ({ detail }) => detail ?? null,
      () => null,
    )

  const toApproval = async (row: ApprovalRecord, now: Date): Promise<ApprovalPayload> => ({
    id: row.id,
    status: row.status === "pending" && row.expires_at <= now ? "expired" : (row.status as ApprovalStatus),
    operation: row.operation,
    method: row.method,
    path: row.path,
    summary: row.summary,
    detail: await detailOf(row),
    risk: "high",
    request_digest: row.request_digest,
    requested_by: { type: "api_key", key_id: row.key_id, name: row.key_name },
    project_id: row.project_id,
    requested_at: row.requested_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
    decided_by: row.decided_by && row.decider_email ? { id: row.decided_by, email: row.decider_email } : null,
    decided_at: toIso(row.decided_at),
    comment: row.comment,
    result:
      row.result_status === null
        ? null
        : {
            status: row.result_status,
            body:
              row.result_body &&
              parseJson(await box.open(row.organization_id, resultContext(row.id), row.result_body)),
          },
  })

  const toRow = async (
    exchange: Exchange,
    id: string,
    now: Date,
    detail: string | undefined,
  ): Promise<ApprovalRow> => {
    const { operation, incoming, principal, project, input } = exchange
    const organizationId = exchange.organization?.id ?? ""
    const request = canonicalJson({
      operation: operation.name,
      path: incoming.path,
      project_id: project?.id,
      input,
    })
    return {
      id,
      organization_id: organizationId,
      project_id: project?.id ?? null,
      key_id: principal.id,
      key_name: principal.name,
      operation: operation.id,
      method: operation.method,
      path: incoming.path,
      summary: operation.summary,
      request_digest: `sha256:${createHash("sha256").update(request).digest("hex")}`,
      sealed_request: await box.seal(
        organizationId,
        requestContext(id),
        JSON.stringify({ operation: operation.name, input, detail } satisfies SealedRequest),
      ),
      ip: incoming.ip,
      status: "pending",
      requested_at: now,
      expires_at: new Date(now.getTime() + TTL_MS),
      decided_by: null,
      decided_at: null,
      comment: null,
      executing_since: null,
      result_status: null,
      result_body: null,
    }
  }

  const request = async (exchange: Exchange, detail?: string): Promise<Reply> => {
    const now = new Date(exchange.nowMs)
    const row = await toRow(exchange, newId(exchange.nowMs), now, detail)
    const answer = reply(
      202,
      { status: "pending_approval", approval: await toApproval({ ...row, decider_email: null }, now) },
      { location: `/v1/approvals/${row.id}`, "retry-after": String(POLL_SECONDS) },
    )
    await database.transaction(async tx => {
      // Requests of one key take turns on its row, so that the count holds.
      await keyStore(tx).findForUpdate(row.organization_id, row.key_id)
      if ((await approvalStore(tx).countPending(row.key_id)) >= PENDING_MAX)
        throw fault("too_many_pending_approvals")
      await approvalStore(tx).insert(row)
      const entry = auditEntry(exchange, "success", { operation: row.operation })
      await audit.append(tx, {
        ...entry,
        action: "approval_requested",
        targets: [{ type: "approval", id: row.id }],
      })
      await exchange.replay?.settle(tx, answer)
    })
    if (exchange.replay) exchange.replay.settled = true
    return answer
  }

  /** Everything is checked again: the key may have been revoked or narrowed since it asked. */
  const carryOut = async (row: ApprovalRow, call: InProcessCaller, nowMs: number): Promise<Reply> => {
    const { operation, input } = await openRequest(row)
    const principal = await keyCache.byId(row.key_id, nowMs)
    const project = row.project_id
      ? ((await projects.find(row.organization_id, row.project_id)) ?? null)
      : null
    if (row.project_id && !project) throw fault("project_not_found")
    const answer = await call({ operation, input, principal, project, ip: row.ip, approvalId: row.id })
    return answer.reply
  }

  const refusalOf = (error: unknown): Reply => {
    const known = error instanceof Fault ? error : fault("internal_error", undefined, { internal: error })
    return { status: known.status, body: { code: known.publicCode, error: known.message } }
  }

  /** Runs an approved request. Of several callers at once, one does. */
  const execute = async (id: string, call: InProcessCaller, nowMs: number): Promise<void> => {
    const row = await approvalStore(database.db).move(id, "approved", {
      status: "executing",
      executing_since: new Date(nowMs),
    })
    if (!row) return
    const result = await carryOut(row, call, nowMs).catch(refusalOf)
    await approvalStore(database.db).move(id, "executing", {
      status: result.status < 400 ? "executed" : "failed",
      result_status: result.status,
      result_body:
        result.body === undefined
          ? null
          : await box.seal(row.organization_id, resultContext(id), JSON.stringify(result.body)),
    })
  }

  /** Puts right what a process that died left behind. An execution cut short is not repeated: it may have had effect. */
  const sweep = async (call: InProcessCaller, nowMs: number): Promise<void> => {
    const store = approvalStore(database.db)
    await store.expire(new Date(nowMs))
    for (const row of await store.abandoned(new Date(nowMs - ABANDONED_MS))) {
      if (row.status === "approved") await execute(row.id, call, nowMs)
      else await store.move(row.id, "executing", { status: "failed", result_status: 500 })
    }
  }

  return { request, toApproval, execute, sweep } satisfies Approvals & Record<string, unknown>
}

export type ApprovalService = ReturnType<typeof createApprovals>
