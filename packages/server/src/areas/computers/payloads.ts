import type { ComputerPayload, ComputerStatus } from "@svc/contract"
import type { Isolation } from "../../ports/runtime/port.ts"
import type { ComputerRow } from "./store.ts"

const iso = (at: Date | null): string | null => at?.toISOString() ?? null

export interface SshAddress {
  readonly host: string
  readonly port: number
  /** Its public key, as known_hosts has it, and the fingerprint of that. */
  readonly hostKey: string
  readonly fingerprint: string
}

/** `lastUsedMs` is what only the process knows in which it runs. */
export const toComputer = (
  row: ComputerRow,
  lastUsedMs: number | undefined,
  ssh: SshAddress | undefined,
): ComputerPayload => {
  const { id, name, status_reason, project_id, host_id, vcpus, memory_mb, disk_gb, image, image_digest } = row
  const { ssh_keys, env_names, auto_stop_seconds } = row
  return {
    ...{ id, name, status_reason, project_id, host_id, vcpus, memory_mb, disk_gb, image, image_digest },
    ...{ ssh_keys, env_names, auto_stop_seconds },
    ...{ ssh_host: ssh?.host ?? null, ssh_port: ssh?.port ?? null },
    ...{ ssh_host_key: ssh?.hostKey ?? null, ssh_host_fingerprint: ssh?.fingerprint ?? null },
    status: row.status as ComputerStatus,
    labels: row.labels as Record<string, string>,
    isolation: row.isolation as Isolation,
    last_activity_at:
      lastUsedMs === undefined ? iso(row.last_activity_at) : new Date(lastUsedMs).toISOString(),
    ...{ created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() },
    ...{ started_at: iso(row.started_at), stopped_at: iso(row.stopped_at) },
  }
}
