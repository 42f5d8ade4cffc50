import type {
  DeploymentInstanceStatus,
  DeploymentKind,
  DeploymentStatus,
  DeploymentVersionStatus,
  RestartPolicy,
} from "@svc/contract"
import { toIso } from "../../kernel/to-iso.ts"
import type { Isolation } from "../../ports/runtime/port.ts"
import type { ServiceUrls } from "../../services/serving/urls.ts"
import { tagOf } from "./finding.ts"
import type { InstanceRow } from "./instance-store.ts"
import type { DeploymentRow, VersionRow } from "./store.ts"

/** What is true of all deployments of this installation. */
export interface Installation {
  readonly isolation: Isolation
  readonly urls: ServiceUrls | undefined
}

type Configured = Omit<VersionRow, "organization_id" | "deployment_id" | "number">

const configOf = (row: Configured) => ({
  kind: row.kind as DeploymentKind,
  image: row.image,
  image_digest: row.image_digest,
  command: row.command,
  args: row.args,
  env_names: row.env_names,
  ports: row.ports,
  vcpus: row.vcpus,
  memory_mb: row.memory_mb,
  health_check: {
    port: row.health_port ?? row.ports[0] ?? null,
    path: row.health_path,
    interval_seconds: row.health_interval_seconds,
    timeout_seconds: row.health_timeout_seconds,
    grace_period_seconds: row.health_grace_seconds,
    unhealthy_threshold: row.unhealthy_threshold,
  },
  restart_policy: row.restart_policy as RestartPolicy,
  max_retries: row.max_retries,
})

export const toDeployment = (row: DeploymentRow, { isolation, urls }: Installation) => {
  const shown = row.ports.flatMap((port, at) =>
    urls ? [{ port, url: urls.of({ label: row.host_label, tag: at === 0 ? undefined : tagOf(port) }) }] : [],
  )
  return {
    id: row.id,
    name: row.name,
    project_id: row.project_id,
    status: row.status as DeploymentStatus,
    status_reason: row.status_reason,
    url: shown[0]?.url ?? null,
    urls: shown,
    public: row.is_public,
    labels: row.labels,
    version: row.version,
    ready_version: row.ready_version,
    min_instances: row.min_instances,
    max_instances: row.max_instances,
    ready_instances: row.ready_instances,
    ...configOf(row),
    isolation,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  }
}

export const toVersion = (row: VersionRow, { version }: DeploymentRow) => ({
  id: row.version_id,
  version: row.number,
  active: row.number === version,
  status: row.version_status as DeploymentVersionStatus,
  status_reason: row.version_reason,
  ...configOf(row),
  created_at: row.deployed_at.toISOString(),
})

export const toInstance = (
  row: InstanceRow,
  usage: { readonly cpuMs: number; readonly memoryBytes: number } | undefined,
) => ({
  id: row.id,
  version: row.number,
  status: row.status as DeploymentInstanceStatus,
  status_reason: row.status_reason,
  host_id: row.host_id,
  port: row.port,
  restart_count: row.restart_count,
  in_flight_requests: row.in_flight_requests,
  requests: row.requests,
  cpu_ms: usage ? Math.round(usage.cpuMs) : null,
  memory_used_bytes: usage?.memoryBytes ?? null,
  exit_code: row.exit_code,
  oom_killed: row.oom_killed,
  started_at: row.started_at.toISOString(),
  stopped_at: toIso(row.stopped_at),
})
