import type { PlatformEvents } from "../../core/platform-events/platform-events.ts"
import type { AtRest } from "../../core/secrets/at-rest.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Database, Db } from "../../kernel/db/database.ts"
import { parseJson } from "../../kernel/exact-json.ts"
import { type Fault, isFault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Job, Outcome as JobOutcome, Jobs } from "../../kernel/jobs/jobs.ts"
import { failureOf } from "./events.ts"
import type { InvocationRow } from "./invocation-store.ts"
import { invocationStore } from "./invocation-store.ts"
import { type Invoker, outcomeColumns } from "./invoker.ts"
import { type DeployedRow, functionStore } from "./store.ts"

/** Invocations whose callers do not wait: kept before they are answered, and tried again when they fail. */
export interface AsyncInvocations {
  /** Gives the invocation's id once it is stored. */
  enqueue(row: DeployedRow, payload: string, requestId: string): Promise<string>
  /** On the transaction that found it to have failed. */
  retry(db: Db, invocation: InvocationRow): Promise<void>
}

interface Payload {
  readonly functionId: string
  readonly invocationId: string
}

const QUEUE = "functions.invoke"
/** As AWS waits between attempts of asynchronous invocations. */
const RETRIES_MS = [60_000, 120_000] as const
/** The longest function, its start and its wait for room. */
const TIMEOUT_MS = 420_000
/** After this long without a sign of life of its process an attempt counts as ended. */
const LEASE_SECONDS = 10
const RESULT_BYTES_MAX = 65_536
const BUSY_RETRY_MS = 5_000

const payloadContext = (invocationId: string): string => `functions.payload:${invocationId}`

export const createAsyncInvocations = (needs: {
  readonly database: Database
  readonly platformEvents: PlatformEvents
  readonly jobs: Jobs
  readonly clock: Clock
  readonly invoker: Invoker
  readonly atRest: AtRest
  readonly retryDelayFactor: number
}): AsyncInvocations => {
  const { database, platformEvents, jobs, clock, invoker, atRest, retryDelayFactor } = needs
  const { db } = database

  const jobOf = (organizationId: string, payload: Payload) => ({
    queue: QUEUE,
    tenantId: organizationId,
    payload,
  })

  const attempt = async (row: DeployedRow, invocation: InvocationRow, payload: string, job: Job) => {
    const store = invocationStore(db)
    const function_version = row.version
    const beganMs = clock.now()
    await store.update(invocation, { status: "running", attempt: job.attempt, function_version })
    const outcome = await invoker.run(
      {
        ...{ row, trigger: "invoke", frame: { t: "invoke", event: parseJson(payload) } },
        ...{ payloadBytes: invocation.payload_bytes, requestId: invocation.request_id },
      },
      invocation.id,
    )
    const isSuccess = outcome.status === "success"
    // The first attempt waited since it was asked for; how long later ones wait is their schedule's doing.
    const askedMs = invocation.created_at.getTime()
    const waitedMs = invocation.attempt === 0 ? Math.max(0, beganMs - askedMs) : 0
    const result = isSuccess ? JSON.stringify(outcome.result) : null
    await database.transaction(async tx => {
      await invocationStore(tx).update(invocation, {
        ...outcomeColumns({ ...outcome, queueMs: outcome.queueMs + waitedMs }, clock.now()),
        ...(!isSuccess && !job.isLastAttempt && { status: "queued" }),
        error: outcome.error === null ? null : JSON.stringify(outcome.error),
        result: result !== null && Buffer.byteLength(result) <= RESULT_BYTES_MAX ? result : null,
      })
      await functionStore(tx).noteInvoked(row, new Date(clock.now()))
      if (isSuccess) await invocationStore(tx).deletePayload(invocation.id)
      else if (job.isLastAttempt) await platformEvents.emit(tx, failureOf(row, invocation.id, outcome.error))
    })
    if (!isSuccess) throw new Error(`${outcome.error?.type}: ${outcome.error?.message}`)
  }

  /** It did not run, and will not while things are as they are. */
  const refuse = (row: DeployedRow, invocation: InvocationRow, { code, message }: Fault, job: Job) =>
    database.transaction(async tx => {
      const error = { type: code, message, stack: null }
      await invocationStore(tx).update(invocation, {
        status: job.isLastAttempt ? "error" : "queued",
        ended_at: job.isLastAttempt ? new Date(clock.now()) : null,
        error: JSON.stringify(error),
      })
      if (job.isLastAttempt) await platformEvents.emit(tx, failureOf(row, invocation.id, error))
    })

  const isBusy = (error: unknown): boolean =>
    isFault(error) && ["function_throttled", "no_host_capacity", "service_unavailable"].includes(error.code)

  const run = async (job: Job<Payload>): Promise<JobOutcome | undefined> => {
    const { tenantId, payload } = job
    const row = await functionStore(db).findById(tenantId ?? "", payload.functionId)
    const store = invocationStore(db)
    const invocation = row && (await store.find(row, payload.invocationId))
    const stored = invocation && (await store.readPayload(invocation.id))
    // Deleted meanwhile, or done by an attempt whose process died before it could say so.
    if (!row || !invocation || stored === undefined) return undefined
    const text = await atRest.read(row.organization_id, payloadContext(invocation.id), stored)
    try {
      await attempt(row, invocation, text, job)
      return undefined
    } catch (error) {
      if (isFault(error) && !isBusy(error)) await refuse(row, invocation, error, job)
      if (!isBusy(error)) throw error
      // It has not run, so this was no attempt.
      await store.update(invocation, { status: "queued" })
      return { kind: "again", at: new Date(clock.now() + BUSY_RETRY_MS * retryDelayFactor) }
    }
  }

  jobs.define<Payload>({
    name: QUEUE,
    concurrency: 20,
    perTenantConcurrency: 10,
    leaseSeconds: LEASE_SECONDS,
    timeoutMs: TIMEOUT_MS,
    retries: RETRIES_MS.map(delay => delay * retryDelayFactor),
    run,
  })

  return {
    async enqueue(row, payload, request_id) {
      const id = newId()
      const stored = await atRest.write(row.organization_id, payloadContext(id), payload)
      await database.transaction(async tx => {
        const store = invocationStore(tx)
        await store.insert({
          ...{ id, organization_id: row.organization_id, function_id: row.id, function_version: row.version },
          ...{ trigger: "invoke", mode: "async", status: "queued", attempt: 0, memory_mb: row.memory_mb },
          ...{ created_at: new Date(clock.now()), payload_bytes: Buffer.byteLength(payload), request_id },
        })
        await store.insertPayload(id, stored)
        await jobs.enqueue(tx, jobOf(row.organization_id, { functionId: row.id, invocationId: id }))
      })
      return id
    },
    async retry(tx, invocation) {
      await invocationStore(tx).update(invocation, { status: "queued", error: null })
      const payload = { functionId: invocation.function_id, invocationId: invocation.id }
      await jobs.enqueue(tx, jobOf(invocation.organization_id, payload))
    },
  }
}
