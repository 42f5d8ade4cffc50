/** A new revision proves that it can be started, before it answers requests in the place of the one before. */
import type { PlatformEvents } from "../../core/platform-events/platform-events.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Database } from "../../kernel/db/database.ts"
import { isFault } from "../../kernel/fault.ts"
import type { Job, JobContext } from "../../kernel/jobs/jobs.ts"
import type { Serving } from "../../services/serving/serving.ts"
import { UnservedError } from "../../services/serving/spec.ts"
import { SERVICE_TOPIC } from "./directory.ts"
import type { SpecOf } from "./specs.ts"
import { serviceStore } from "./store.ts"

export const DEPLOY_QUEUE = "run.deploy"
/** Pulling an image and starting it five times may take so long. */
export const DEPLOY_MS_MAX = 1_800_000

export interface DeployJob {
  readonly organizationId: string
  readonly serviceId: string
  readonly revisionId: string
}

export interface DeployingNeeds {
  readonly database: Database
  readonly changes: Changes
  readonly platformEvents: PlatformEvents
  readonly specOf: SpecOf
  readonly serving: Pick<Serving, "acquire">
}

const REASON_LENGTH_MAX = 3_000

export const createDeploying = (needs: DeployingNeeds) => {
  const { database, changes, platformEvents, specOf, serving } = needs

  /** Says how a revision is, and to whom it matters. Does nothing where it is so already. */
  const note = async (of: DeployJob, status: "READY" | "FAILED", reason: string | null): Promise<void> => {
    await database.transaction(async db => {
      const store = serviceStore(db)
      const text = reason?.replaceAll("\0", "").toWellFormed().slice(-REASON_LENGTH_MAX) ?? null
      if (!(await store.setStatus(of.organizationId, of.revisionId, status, text))) return
      if (status === "READY") await store.noteReady(of.organizationId, of.serviceId, of.revisionId)
      await changes.invalidate(db, SERVICE_TOPIC, of.serviceId)
      const service = await store.findById(of.organizationId, of.serviceId)
      if (!service) return
      await platformEvents.emit(db, {
        ...{ organizationId: of.organizationId, projectId: service.project_id },
        type: status === "READY" ? "service.deployed" : "service.failed",
        data: { service_id: service.id, name: service.name },
      })
    })
  }

  /** The signal aborts at the end of the job's time. */
  const run = async ({ payload, isLastAttempt }: Job<DeployJob>, { signal }: JobContext): Promise<void> => {
    const store = serviceStore(database.db)
    const service = await store.findById(payload.organizationId, payload.serviceId)
    const revision = service && (await store.findRevision(service, "revision_id", payload.revisionId))
    if (!service || !revision || revision.status === "READY") return
    const spec = specOf(service, revision)
    try {
      using _lease = await serving.acquire(spec, signal)
      await note(payload, "READY", null)
    } catch (error) {
      if (error instanceof UnservedError && error.kind === "failed")
        return note(payload, "FAILED", error.message)
      if (isLastAttempt) await note(payload, "FAILED", whyNot(error))
      throw error
    }
  }

  return { note, run }
}

const whyNot = (error: unknown): string =>
  isFault(error, "no_host_capacity")
    ? "no host has room for an instance"
    : error instanceof UnservedError
      ? error.message
      : "it could not be started"
