import type { Readable } from "node:stream"
import type { FunctionTrigger, InvocationStatus } from "@svc/contract"
import type { BackgroundMeters } from "../../core/meters/meters.ts"
import type { AtRest } from "../../core/secrets/at-rest.ts"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Db } from "../../kernel/db/database.ts"
import { newId } from "../../kernel/id.ts"
import type { Hosts } from "../../services/hosts/hosts.ts"
import type { Image, Images } from "../../services/images/images.ts"
import { MB } from "../../services/workloads/shape.ts"
import { failureOf } from "./events.ts"
import type { Fleet } from "./fleet.ts"
import type { EndedInvocation } from "./invocation-store.ts"
import type { Recorder } from "./recorder.ts"
import { languageOf, type Runtimes } from "./runtimes.ts"
import { type DeployedRow, functionStore } from "./store.ts"
import type { FunctionSpec, Outcome } from "./work.ts"

/** What a function is asked, and by whom. */
export interface Request {
  readonly row: DeployedRow
  readonly trigger: FunctionTrigger
  /** For the harness: an event, or an HTTP request. */
  readonly frame:
    | { readonly t: "invoke"; readonly event: unknown }
    | { readonly t: "request"; readonly request: object }
  readonly payloadBytes: number
  readonly requestId: string | null
  /** In place of the function's own time where that is longer. */
  readonly timeoutMs?: number
  /** Aborts when the caller leaves. */
  readonly signal?: AbortSignal
  /** Takes the beginning of a reply that comes while it is made; the invocation ends with its body. */
  readonly stream?: (begun: StreamedReply) => void
}

export interface StreamedReply {
  readonly invocationId: string
  /** Not checked yet. */
  readonly reply: unknown
  readonly body: Readable
}

export interface Invoker {
  /** Throws what `Fleet.invoke` throws, with who else may have room, and then leaves no record. */
  invoke(request: Request): Promise<Outcome & { readonly invocationId: string }>
  /** The same for an invocation whose record is kept by the caller. */
  run(request: Request, invocationId: string): Promise<Outcome>
  specOf(row: DeployedRow): Promise<FunctionSpec>
}

export const codeContext = (sha256: string): string => `functions.code:${sha256}`
export const envContext = (functionId: string): string => `functions.env:${functionId}`

const rounded = (ms: number): number => Math.round(ms * 100) / 100

/** What the end of an invocation says of it. */
export const outcomeColumns = (outcome: Outcome, endedMs: number) => ({
  status: outcome.status as InvocationStatus,
  started_at: new Date(endedMs - outcome.durationMs),
  ended_at: new Date(endedMs),
  queue_ms: rounded(outcome.queueMs),
  init_duration_ms: outcome.initMs === null ? null : rounded(outcome.initMs),
  duration_ms: rounded(outcome.durationMs),
  max_memory_used_mb: outcome.maxMemoryMb,
  cold_start: outcome.coldStart,
  response_bytes: outcome.responseBytes,
  error: outcome.error,
})

export interface InvokerNeeds {
  readonly db: Db
  readonly box: SecretBox
  readonly atRest: AtRest
  readonly clock: Clock
  readonly meters: BackgroundMeters
  readonly fleet: Fleet
  readonly recorder: Recorder
  readonly runtimes: Runtimes
  readonly images: Pick<Images, "prepare">
  readonly hosts: Pick<Hosts, "orElsewhere">
}

export const createInvoker = (needs: InvokerNeeds): Invoker => {
  const { db, box, atRest, clock, meters, fleet, recorder, runtimes, images, hosts } = needs

  /** A version runs what its image stood for when it was first started. */
  const openImage = async (row: DeployedRow, name: string): Promise<Image> => {
    const store = functionStore(db)
    const known = await store.readDigest(row)
    const image = await images.prepare(name, known)
    if (known === null && image.digest !== null) await store.pinDigest(row, image.digest)
    return image
  }

  const specOf: Invoker["specOf"] = async row => {
    const language = await runtimes.start(languageOf(row.runtime))
    return {
      ...{ functionId: row.id, organizationId: row.organization_id, version: row.version, language },
      handler: row.handler,
      ...{ codeSha256: row.code_sha256, memoryMb: row.memory_mb, vcpus: row.vcpus },
      concurrency: row.concurrency,
      async readCode() {
        const { organization_id, code_sha256 } = row
        const stored = await functionStore(db).readCode(organization_id, code_sha256)
        return atRest.readBytes(organization_id, codeContext(code_sha256), stored)
      },
      openImage: row.image === null ? undefined : () => openImage(row, row.image ?? ""),
      openEnv: async () =>
        row.env === null ? {} : JSON.parse(await box.open(row.organization_id, envContext(row.id), row.env)),
    }
  }

  const measure = ({ row }: Request, { durationMs }: Outcome) => {
    const usage = {
      organizationId: row.organization_id,
      projectId: row.project_id,
      at: new Date(clock.now()),
    }
    meters.count({ ...usage, metric: "function_invocations", quantity: 1 })
    const quantity = (row.memory_mb / 1024) * (durationMs / 1000)
    if (quantity > 0) meters.count({ ...usage, metric: "gb_seconds", quantity })
  }

  const run: Invoker["run"] = async (request, invocationId) => {
    const { row, frame, signal, stream } = request
    const ownMs = row.timeout_seconds * 1000
    const context = { function_name: row.name, function_version: row.version, memory_mb: row.memory_mb }
    const outcome = await fleet.invoke(await specOf(row), {
      invocationId,
      frame: { ...frame, context },
      timeoutMs: Math.min(ownMs, request.timeoutMs ?? ownMs),
      ...(signal && { signal }),
      ...(stream && { stream: (reply: unknown, body: Readable) => stream({ invocationId, reply, body }) }),
    })
    measure(request, outcome)
    return outcome
  }

  return {
    run,
    specOf,
    async invoke(request) {
      const { row, trigger, payloadBytes, requestId } = request
      const invocationId = newId()
      const created_at = new Date(clock.now())
      const outcome = await hosts.orElsewhere({ memoryBytes: row.memory_mb * MB }, () =>
        run(request, invocationId),
      )
      const record: EndedInvocation = {
        ...{ id: invocationId, organization_id: row.organization_id, function_id: row.id },
        ...{ function_version: row.version, memory_mb: row.memory_mb, trigger, mode: "sync", attempt: 1 },
        ...{ created_at, payload_bytes: payloadBytes, request_id: requestId, result: null },
        status_code: statusCodeOf(trigger, outcome),
        ...outcomeColumns(outcome, clock.now()),
      }
      const isFailure = outcome.status !== "success"
      recorder.invocation(record, isFailure ? failureOf(row, invocationId, outcome.error) : undefined)
      return { ...outcome, invocationId }
    },
  }
}

const statusCodeOf = (trigger: FunctionTrigger, { reply }: Outcome): number | null => {
  if (trigger !== "http" || typeof reply !== "object" || reply === null) return null
  const { status } = reply as { status?: unknown }
  return Number.isInteger(status) ? Math.max(0, Math.min(999, Number(status))) : null
}
