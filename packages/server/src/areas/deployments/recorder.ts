/** Writes down how it is with instances, wherever that has changed since it was written last. */
import type { Db } from "../../kernel/db/database.ts"
import type { Replica } from "../../services/serving/pool.ts"
import { type InstanceRow, instanceStore } from "./instance-store.ts"
import type { DeploymentRow } from "./store.ts"

/** Instances of one version. */
export interface Seen {
  readonly number: number
  readonly port: number | null
  readonly replicas: readonly Replica[]
}

const REASON_LENGTH_MAX = 3_000

export const tidy = (reason: string | null): string | null =>
  reason?.replaceAll("\0", "").toWellFormed().slice(-REASON_LENGTH_MAX) ?? null

export const createRecorder = (db: Db, hostId: string, nowMs: () => number) => {
  const store = instanceStore(db)
  /** As they were written, by deployment and instance. */
  const written = new Map<string, Map<string, InstanceRow>>()

  const rowOf = (
    { id: deployment_id, organization_id }: DeploymentRow,
    { number, port }: Seen,
    one: Replica,
  ): InstanceRow => {
    const { instance } = one
    return {
      ...{ id: one.id, organization_id, deployment_id, number, port, host_id: hostId },
      ...{ status: one.status === "DONE" ? "STOPPED" : one.status, status_reason: tidy(one.reason) },
      ...{ restart_count: one.restarts, in_flight_requests: instance?.inFlight ?? 0 },
      ...{ requests: instance?.served ?? 0, exit_code: one.exitCode, oom_killed: one.outOfMemory },
      ...{ started_at: new Date(one.sinceMs), stopped_at: null },
    }
  }

  return {
    async note(deployment: DeploymentRow, seen: readonly Seen[]) {
      const before = written.get(deployment.id) ?? new Map<string, InstanceRow>()
      const rows = seen.flatMap(of => of.replicas.map(one => rowOf(deployment, of, one)))
      const there = new Set(rows.map(({ id }) => id))
      for (const [id, row] of before) {
        if (there.has(id)) continue
        const stopped_at = new Date(nowMs())
        const status_reason = row.status === "FAILED" ? row.status_reason : "the platform stopped it"
        await store.put({ ...row, status: "STOPPED", status_reason, in_flight_requests: 0, stopped_at })
        before.delete(id)
      }
      for (const row of rows) {
        if (JSON.stringify(before.get(row.id)) === JSON.stringify(row)) continue
        await store.put(row)
        before.set(row.id, row)
      }
      written.set(deployment.id, before)
    },
    /** Those that are not here any more. */
    forget(isHere: (deploymentId: string) => boolean) {
      for (const id of written.keys()) if (!isHere(id)) written.delete(id)
    },
  }
}
export type Recorder = ReturnType<typeof createRecorder>
