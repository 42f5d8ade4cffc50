import type { SandboxKind, SandboxPayload, SandboxStatus, SandboxStopReason } from "@svc/contract"
import type { PortUrls } from "../../core/workloads/port-urls.ts"
import type { GuestUser, Isolation } from "../../ports/runtime/port.ts"
import { type Network, WORKSPACE } from "./rules.ts"
import type { SandboxRow } from "./store.ts"

/** What only the process knows in which it runs. */
export interface Present {
  readonly isEnding: boolean
  readonly lastUsedMs: number | undefined
  readonly urls: PortUrls | undefined
}

const iso = (at: Date | null): string | null => at?.toISOString() ?? null

export const toSandbox = (row: SandboxRow, { isEnding, lastUsedMs, urls }: Present): SandboxPayload => {
  const { id, name, project_id, host_id, template, image_digest, vcpus, memory_mb, disk_gb, env_names } = row
  const { mode, allow, deny } = row.network as Network
  return {
    ...{ id, name, project_id, host_id, template, image_digest, vcpus, memory_mb, disk_gb, env_names },
    cwd: row.cwd ?? WORKSPACE,
    ports: row.ports,
    urls: urls ? row.ports.map(port => ({ port, url: urls.of({ id, port }) })) : [],
    kind: row.kind as SandboxKind,
    status: isEnding && row.status === "RUNNING" ? "STOPPING" : (row.status as SandboxStatus),
    stop_reason: row.stop_reason as SandboxStopReason | null,
    status_reason: row.status_reason,
    timeout_seconds: row.timeout_seconds,
    idle_timeout_seconds: row.idle_timeout_seconds,
    labels: row.labels as Record<string, string>,
    user: row.guest_user as GuestUser,
    network: { mode, allow: [...allow], deny: [...deny] },
    isolation: row.isolation as Isolation,
    ...{ cold_start: row.cold_start, provision_ms: row.provision_ms },
    expires_at: iso(row.expires_at),
    last_activity_at:
      lastUsedMs === undefined ? iso(row.last_activity_at) : new Date(lastUsedMs).toISOString(),
    ...{ created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() },
    ...{ started_at: iso(row.started_at), stopped_at: iso(row.stopped_at) },
  }
}
