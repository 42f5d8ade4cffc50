/** In what sandboxes differ from other workloads. */
import type { SandboxKind, SandboxStopReason } from "@svc/contract"
import { expressionBuilder } from "kysely"
import type { Tables } from "../../kernel/db/tables.gen.ts"
import type { GuestUser } from "../../ports/runtime/port.ts"
import type { CommandWorkload, StopReason, WorkloadPolicy } from "../../services/workloads/policy.ts"
import { cwdIn, type Network, specOf } from "./rules.ts"
import type { SandboxRow } from "./store.ts"

export interface SandboxItem extends CommandWorkload {
  /** Those that have URLs. */
  readonly ports: readonly number[]
}

const reasons: Readonly<Record<StopReason, SandboxStopReason>> = {
  stopped: "stopped",
  deadline: "deadline",
  idle: "idle_timeout",
  out_of_memory: "oom",
  died: "error",
}

export const eventOf = (
  type: "sandbox.started" | "sandbox.stopped",
  { id, organization_id, project_id }: SandboxRow,
) => ({ organizationId: organization_id, projectId: project_id, type, data: { sandbox_id: id } })

const toItem: WorkloadPolicy<SandboxRow, SandboxItem>["toItem"] = (row, env, { root, config }) => ({
  spec: {
    ...specOf({ ...row, kind: row.kind as SandboxKind, network: row.network as Network }, root),
    id: row.id,
  },
  organizationId: row.organization_id,
  ownerId: row.owner_id,
  projectId: row.project_id,
  idleMs: row.idle_timeout_seconds * 1000,
  ports: row.ports,
  defaults: {
    cwd: row.cwd ?? cwdIn(config),
    user: row.guest_user as GuestUser,
    env: { ...config.env, ...env },
  },
})

const eb = expressionBuilder<Tables, "sandboxes.sandboxes">()

export const sandboxPolicy: WorkloadPolicy<SandboxRow, SandboxItem> = {
  resource: "sandbox",
  table: "sandboxes.sandboxes",
  states: {
    starting: "PROVISIONING",
    failed: "FAILED",
    stoppable: ["PROVISIONING", "RUNNING"],
    ending: "STOPPING",
  },
  persistent: eb("kind", "=", "persistent"),
  hostLost: eb.and([eb("status", "=", "STOPPED"), eb("stop_reason", "=", "host_lost")]),
  faults: { notFound: "sandbox_not_found", notRunning: "sandbox_not_running" },
  imageOf: ({ template }) => template,
  isPersistent: ({ kind }) => kind === "persistent",
  timeoutMsOf: ({ timeout_seconds }) => (timeout_seconds === null ? null : timeout_seconds * 1000),
  toItem,
  eventOf(change, row) {
    if (change === "started") return eventOf("sandbox.started", row)
    return change === "stopped" || row.status === "RUNNING" ? eventOf("sandbox.stopped", row) : undefined
  },
  changes: {
    started: ({ item, expiresAtMs }, provisionMs) => ({
      stop_reason: null,
      cwd: item.defaults.cwd,
      expires_at: expiresAtMs === null ? null : new Date(expiresAtMs),
      ...(provisionMs !== undefined && { cold_start: true, provision_ms: provisionMs }),
    }),
    stopped: reason => ({ stop_reason: reasons[reason], expires_at: null }),
    failed: () => ({ stop_reason: "error", expires_at: null }),
    hostLost: () => ({ stop_reason: "host_lost", expires_at: null }),
  },
}
