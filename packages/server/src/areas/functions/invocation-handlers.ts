import {
  FUNCTION_PAYLOAD_BYTES_MAX,
  type FunctionLogStream,
  type InvocationStatus,
  page,
  pageOf,
  reply,
} from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import { requireRow } from "../../kernel/require-row.ts"
import type { AsyncInvocations } from "./async-invocations.ts"
import type { Directory } from "./directory.ts"
import { auditTarget, requireFunction } from "./handlers.ts"
import { invocationStore } from "./invocation-store.ts"
import type { Invoker } from "./invoker.ts"
import { toInvocation, toLine } from "./payloads.ts"
import type { Recorder } from "./recorder.ts"

export interface InvocationHandlerNeeds {
  readonly directory: Directory
  readonly invoker: Invoker
  readonly asynchronous: AsyncInvocations
  readonly recorder: Recorder
}

const LOG_LINES_DEFAULT = 100

interface InvokeInput {
  id: string
  mode?: "sync" | "async"
  payload?: Record<string, unknown>
}

/** RFC 7240, 4.1. */
const prefersAsync = (call: Call): boolean =>
  /(?:^|[,;\s])respond-async(?:$|[,;\s])/i.test(call.header("prefer") ?? "")

export const invocationHandlers = ({
  directory,
  invoker,
  asynchronous,
  recorder,
}: InvocationHandlerNeeds) => {
  const invoke = async ({ id, mode, payload = {} }: InvokeInput, call: Call) => {
    const row = await directory.find(call.projectTenant, id)
    call.describe({ targets: [auditTarget(row)] })
    const text = JSON.stringify(payload)
    const payloadBytes = Buffer.byteLength(text)
    // Escapes can make a text longer than it came.
    if (payloadBytes > FUNCTION_PAYLOAD_BYTES_MAX)
      throw fault("function_payload_too_large", { bytes: FUNCTION_PAYLOAD_BYTES_MAX })
    if (mode === "async" || (mode === undefined && prefersAsync(call))) {
      const invocationId = await asynchronous.enqueue(row, text, call.requestId)
      return reply(202, { invocation_id: invocationId, status: "queued" as const })
    }
    const done = await invoker.invoke({
      ...{ row, trigger: "invoke", frame: { t: "invoke", event: payload }, payloadBytes },
      requestId: call.requestId,
    })
    return reply(200, {
      invocation_id: done.invocationId,
      status: done.status,
      result: done.result,
      error: done.error,
      duration_ms: Math.round(done.durationMs * 100) / 100,
      cold_start: done.coldStart,
    })
  }

  return {
    invoke,

    async invocations(
      { id, status, ...input }: { id: string; status?: InvocationStatus; limit?: number; offset?: number },
      call: Call,
    ) {
      const row = await requireFunction(call, id)
      await recorder.flush()
      const { rows, total } = await invocationStore(call.db).list(row, { ...pageOf(input), status })
      return page({ rows: rows.map(toInvocation), total }, input)
    },

    async getInvocation({ id, invocation_id }: { id: string; invocation_id: string }, call: Call) {
      const row = await requireFunction(call, id)
      await recorder.flush()
      const found = await requireRow(
        invocationStore(call.db).find(row, invocation_id),
        "invocation_not_found",
        { id: invocation_id },
      )
      return toInvocation(found)
    },

    async retryInvocation({ id, invocation_id }: { id: string; invocation_id: string }, call: Call) {
      const row = await requireFunction(call, id)
      const store = invocationStore(call.db)
      const found = await requireRow(store.findForUpdate(row, invocation_id), "invocation_not_found", {
        id: invocation_id,
      })
      const hasFailed = found.status === "error" || found.status === "timeout"
      if (found.mode !== "async" || !hasFailed || (await store.readPayload(found.id)) === undefined)
        throw fault("invalid_state_transition", { state: `${found.mode}, ${found.status}` })
      await asynchronous.retry(call.db, found)
      call.describe({ targets: [auditTarget(row)] })
      return { invocation_id: found.id, status: "queued" as const }
    },

    async logs(
      input: {
        id: string
        limit?: number
        after?: string
        invocation_id?: string
        stream?: FunctionLogStream
      },
      call: Call,
    ) {
      const row = await requireFunction(call, input.id)
      await recorder.flush()
      const lines = await invocationStore(call.db).logs(row, {
        limit: input.limit ?? LOG_LINES_DEFAULT,
        after: input.after === undefined ? undefined : Number(input.after),
        invocationId: input.invocation_id,
        stream: input.stream,
      })
      return { data: lines.map(toLine), cursor: String(lines.at(-1)?.id ?? input.after ?? 0) }
    },
  }
}
