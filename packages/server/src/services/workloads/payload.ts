import { toIso } from "../../kernel/to-iso.ts"
import type { Isolation } from "../../ports/runtime/port.ts"
import type { WorkloadRow } from "./policy.ts"

/** What the records of all kinds show. `lastUsedMs` is known only to the process in which it runs. */
export const toWorkloadPayload = (row: WorkloadRow, lastUsedMs: number | undefined) => ({
  id: row.id,
  project_id: row.project_id,
  host_id: row.host_id,
  image_digest: row.image_digest,
  vcpus: row.vcpus,
  memory_mb: row.memory_mb,
  disk_gb: row.disk_gb,
  env_names: row.env_names,
  labels: row.labels as Record<string, string>,
  isolation: row.isolation as Isolation,
  status_reason: row.status_reason,
  last_activity_at:
    lastUsedMs === undefined ? toIso(row.last_activity_at) : new Date(lastUsedMs).toISOString(),
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
  started_at: toIso(row.started_at),
  stopped_at: toIso(row.stopped_at),
})
