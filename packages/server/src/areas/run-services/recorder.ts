/** Writes down what becomes of instances, each in the order in which it happens. */
import type { Db } from "../../kernel/db/database.ts"
import type { Logger } from "../../kernel/log.ts"
import type { Instance } from "../../services/serving/instance.ts"
import type { InstanceEnd } from "../../services/serving/spec.ts"
import { type InstanceRow, instanceStore } from "./instance-store.ts"

export interface Recorder {
  changed(instance: Instance): void
  ended(instance: Instance, end: InstanceEnd): void
  /** Resolves once all is written that happened before. */
  settled(): Promise<void>
}

const rowOf = (hostId: string, instance: Instance): InstanceRow => {
  const { id, spec, status, inFlight, served, startedMs } = instance
  return {
    ...{ id, organization_id: spec.organizationId, service_id: spec.serviceId, revision_id: spec.id },
    ...{ host_id: hostId, status, status_reason: null, in_flight_requests: inFlight, requests: served },
    ...{ exit_code: null, oom_killed: false, started_at: new Date(startedMs), stopped_at: null },
  }
}

export const createRecorder = (needs: {
  readonly db: Db
  readonly log: Logger
  readonly hostId: string
  readonly nowMs: () => number
}): Recorder => {
  const { db, log, hostId, nowMs } = needs
  const store = instanceStore(db)
  const writing = new Map<string, Promise<void>>()

  const put = (row: InstanceRow) => {
    const done = (writing.get(row.id) ?? Promise.resolve())
      .then(() => store.put(row))
      .catch(error =>
        log.error({ err: error, instance: row.id }, "recording an instance of a run service failed"),
      )
      .finally(() => {
        if (writing.get(row.id) === done) writing.delete(row.id)
      })
    writing.set(row.id, done)
  }

  return {
    changed: instance => put(rowOf(hostId, instance)),
    ended: (instance, { reason, exitCode, outOfMemory, isExpected }) =>
      put({
        ...rowOf(hostId, instance),
        ...{ status: "STOPPED", in_flight_requests: 0, stopped_at: new Date(nowMs()) },
        ...{
          status_reason: isExpected
            ? "the platform stopped it"
            : reason.replaceAll("\0", "").toWellFormed().slice(0, 500),
        },
        ...{ exit_code: exitCode, oom_killed: outOfMemory },
      }),
    async settled() {
      while (writing.size > 0) await Promise.all(writing.values())
    },
  }
}
