/** Brings what runs here to what is to run, step by step, and says how it is. */
import type { PlatformEvents } from "../../core/platform-events/platform-events.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Database, Db } from "../../kernel/db/database.ts"
import type { Logger } from "../../kernel/log.ts"
import type { Serving } from "../../services/serving/serving.ts"
import { DEPLOYMENT_TOPIC, type Known, readKnown } from "./directory.ts"
import { createRecorder, tidy } from "./recorder.ts"
import { cannotArrive, countsOf, hasArrived, statusOf, wantedOf } from "./rules.ts"
import type { SpecOf } from "./specs.ts"
import { type DeploymentRow, deploymentStore } from "./store.ts"

export interface KeeperNeeds {
  readonly database: Database
  readonly changes: Changes
  readonly platformEvents: PlatformEvents
  readonly log: Logger
  readonly hostId: string
  readonly nowMs: () => number
  readonly specOf: SpecOf
  readonly serving: Pick<Serving, "keep" | "replicas">
}

export interface Keeper {
  /** Looks soon, and once more if something changes meanwhile. Resolves when it has. */
  stir(): Promise<void>
}

const createSteps = (needs: KeeperNeeds) => {
  const { database, changes, platformEvents, serving } = needs

  const emit = (db: Db, row: DeploymentRow, type: "deployment.ready" | "deployment.failed") =>
    platformEvents.emit(db, {
      ...{ organizationId: row.organization_id, projectId: row.project_id, type },
      data: { deployment_id: row.id, name: row.name },
    })

  const look = ({ target, before }: Known) => ({
    target: countsOf(serving.replicas(target.id)),
    before: countsOf(before ? serving.replicas(before.id) : []),
  })

  /** Writes that its version has arrived, or cannot; true when that changes what is to run. */
  const step = async (known: Known): Promise<boolean> => {
    const { deployment: row } = known
    const { target } = look(known)
    const hasIt = hasArrived(row, target)
    if (!hasIt && !cannotArrive(row, target)) return false
    const reason = hasIt ? null : tidy(target.reason)
    await database.transaction(async db => {
      const store = deploymentStore(db)
      const change = hasIt
        ? { ready_version: row.version, ready_generation: row.generation }
        : { failed_generation: row.generation, failed_reason: reason }
      if (!(await store.updateCurrent(row, change))) return
      await store.setVersionStatus(row, row.version, hasIt ? "READY" : "FAILED", reason)
      await emit(db, row, hasIt ? "deployment.ready" : "deployment.failed")
      await changes.invalidate(db, DEPLOYMENT_TOPIC, row.id)
    })
    return true
  }

  const say = async (known: Known): Promise<void> => {
    const { deployment: row } = known
    const counts = look(known)
    const said = statusOf(row, counts.target, counts.before)
    const reason = tidy(said.reason)
    if (said.status === row.status && reason === row.status_reason && said.ready === row.ready_instances)
      return
    await database.transaction(async db => {
      const store = deploymentStore(db)
      const change = { status: said.status, status_reason: reason, ready_instances: said.ready }
      if (!(await store.updateCurrent(row, change))) return
      if (said.status !== "FAILED" || row.status === "FAILED") return
      await store.setVersionStatus(row, row.version, "FAILED", reason)
      await emit(db, row, "deployment.failed")
    })
  }

  return { look, step, say }
}

export const createKeeper = (needs: KeeperNeeds): Keeper => {
  const { database, log, hostId, nowMs, specOf, serving } = needs
  const { look, step, say } = createSteps(needs)
  const recorder = createRecorder(database.db, hostId, nowMs)
  let underWay: Promise<void> | undefined
  let isDue = false

  const read = async (): Promise<Known[]> => {
    const rows = await deploymentStore(database.db).listOf(hostId)
    const known = await Promise.all(rows.map(row => readKnown(database.db, specOf, row)))
    return known.flatMap(one => one ?? [])
  }

  const keep = (all: readonly Known[]) =>
    serving.keep(
      all.flatMap(known => {
        const wanted = wantedOf(known.deployment, look(known).target)
        const { target, before } = known
        return [
          { spec: target, instances: wanted.target },
          ...(before ? [{ spec: before, instances: wanted.before }] : []),
        ]
      }),
    )

  const record = async ({ deployment, target, before }: Known) => {
    const seen = [target, ...(before ? [before] : [])].map((spec, at) => ({
      number: at === 0 ? deployment.version : (deployment.ready_version ?? 0),
      port: spec.port,
      replicas: serving.replicas(spec.id),
    }))
    await recorder.note(deployment, seen)
  }

  const tend = async () => {
    const all = await read()
    keep(all)
    for (const known of all) {
      if (await step(known)) isDue = true
      else await say(known)
      await record(known)
    }
    const ids = new Set(all.map(({ deployment }) => deployment.id))
    recorder.forget(id => ids.has(id))
  }

  const run = async () => {
    while (isDue) {
      isDue = false
      await tend()
    }
  }

  const stir = (): Promise<void> => {
    isDue = true
    underWay ??= run()
      .catch(error => {
        isDue = false
        log.warn({ err: error }, "tending deployments failed; will retry")
      })
      .finally(() => {
        underWay = undefined
        if (isDue) void stir()
      })
    return underWay
  }
  return { stir }
}
