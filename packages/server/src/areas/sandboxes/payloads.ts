import type { SandboxKind, SandboxPayload, SandboxStatus, SandboxStopReason } from "@svc/contract"
import { toIso } from "../../kernel/to-iso.ts"
import type { GuestUser } from "../../ports/runtime/port.ts"
import { toWorkloadPayload } from "../../services/workloads/payload.ts"
import type { PortUrls } from "./ports/urls.ts"
import { type Network, WORKSPACE } from "./rules.ts"
import type { SandboxRow } from "./store.ts"

/** What only the process knows in which it runs. */
export interface Present {
  readonly isEnding: boolean
  readonly lastUsedMs: number | undefined
  readonly urls: PortUrls | undefined
}

export const toSandbox = (row: SandboxRow, { isEnding, lastUsedMs, urls }: Present): SandboxPayload => {
  const { id, name, template, timeout_seconds, idle_timeout_seconds, cold_start, provision_ms } = row
  const { mode, allow, deny } = row.network as Network
  return {
    ...toWorkloadPayload(row, lastUsedMs),
    name,
    template,
    timeout_seconds,
    idle_timeout_seconds,
    cold_start,
    provision_ms,
    cwd: row.cwd ?? WORKSPACE,
    ports: row.ports,
    urls: urls ? row.ports.map(port => ({ port, url: urls.of({ id, port }) })) : [],
    kind: row.kind as SandboxKind,
    status: isEnding && row.status === "RUNNING" ? "STOPPING" : (row.status as SandboxStatus),
    stop_reason: row.stop_reason as SandboxStopReason | null,
    user: row.guest_user as GuestUser,
    network: { mode, allow: [...allow], deny: [...deny] },
    expires_at: toIso(row.expires_at),
  }
}
