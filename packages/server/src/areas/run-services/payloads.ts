import type { RunInstanceStatus, RunRevisionStatus, RunServiceStatus } from "@svc/contract"
import { toIso } from "../../kernel/to-iso.ts"
import type { Isolation } from "../../ports/runtime/port.ts"
import type { ServiceUrls } from "../../services/serving/urls.ts"
import type { RevisionRow, ServiceRow } from "./store.ts"
import { numberOf } from "./traffic.ts"

/** What is true of all services of this installation. */
export interface Installation {
  readonly isolation: Isolation
  readonly urls: ServiceUrls | undefined
}

type Configured = Omit<RevisionRow, "organization_id" | "service_id" | "number" | "status" | "deployed_at">

const configOf = (row: Configured) => ({
  image: row.image,
  image_digest: row.image_digest,
  files_sha256: row.files_sha256,
  files_size_bytes: row.files_size_bytes,
  command: row.command,
  args: row.args,
  env_names: row.env_names,
  port: row.port,
  vcpus: row.vcpus,
  memory_mb: row.memory_mb,
  concurrency: row.concurrency,
  timeout_seconds: row.timeout_seconds,
  idle_timeout_seconds: row.idle_timeout_seconds,
  health_check: {
    path: row.health_path,
    interval_seconds: row.health_interval_seconds,
    timeout_seconds: row.health_timeout_seconds,
    grace_period_seconds: row.health_grace_seconds,
    unhealthy_threshold: row.unhealthy_threshold,
  },
})

const statusOf = ({ status, revision, ready_revision }: ServiceRow): RunServiceStatus => {
  if (status !== "FAILED") return status as "DEPLOYING" | "READY"
  return ready_revision !== null && ready_revision < revision ? "DEGRADED" : "FAILED"
}

export const toService = (row: ServiceRow, { isolation, urls }: Installation) => {
  const urlOf = (tag: string | undefined) => urls?.of({ label: row.host_label, tag }) ?? null
  return {
    id: row.id,
    name: row.name,
    project_id: row.project_id,
    status: statusOf(row),
    status_reason: row.status_reason,
    url: urlOf(undefined),
    public: row.is_public,
    labels: row.labels,
    revision: row.revision,
    ready_revision: row.ready_revision,
    traffic: row.traffic.map(share => ({
      ...{ revision: numberOf(row, share), latest: share.revision === null, percent: share.percent },
      ...{ tag: share.tag, url: share.tag === null ? null : urlOf(share.tag) },
    })),
    min_instances: row.min_instances,
    max_instances: row.max_instances,
    ...configOf(row),
    isolation,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  }
}

export const toRevision = (row: RevisionRow, service: ServiceRow) => ({
  id: row.revision_id,
  name: `${service.name}-${String(row.number).padStart(5, "0")}`,
  number: row.number,
  status: row.status as RunRevisionStatus,
  status_reason: row.status_reason,
  traffic_percent: service.traffic
    .filter(share => numberOf(service, share) === row.number)
    .reduce((sum, { percent }) => sum + percent, 0),
  ...configOf(row),
  created_at: row.deployed_at.toISOString(),
})

export interface ShownInstance {
  readonly id: string
  readonly revision_id: string
  readonly number: number
  readonly port: number
  readonly status: string
  readonly status_reason: string | null
  readonly host_id: string
  readonly in_flight_requests: number
  readonly requests: number
  readonly exit_code: number | null
  readonly oom_killed: boolean
  readonly started_at: Date
  readonly stopped_at: Date | null
}

export const toInstance = (
  row: ShownInstance,
  usage: { readonly cpuMs: number; readonly memoryBytes: number } | undefined,
) => ({
  id: row.id,
  revision: row.number,
  revision_id: row.revision_id,
  status: row.status as RunInstanceStatus,
  status_reason: row.status_reason,
  host_id: row.host_id,
  port: row.port,
  in_flight_requests: row.in_flight_requests,
  requests: row.requests,
  cpu_ms: usage ? Math.round(usage.cpuMs) : null,
  memory_used_bytes: usage?.memoryBytes ?? null,
  exit_code: row.exit_code,
  oom_killed: row.oom_killed,
  started_at: row.started_at.toISOString(),
  stopped_at: toIso(row.stopped_at),
})
