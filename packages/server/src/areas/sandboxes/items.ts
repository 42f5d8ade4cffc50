/** A sandbox's row as something that runs. */

import type { SandboxKind } from "@svc/contract"
import type { Image } from "../../core/images/images.ts"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { CommandDefaults } from "../../core/workloads/commands.ts"
import { type Env, openEnv } from "../../core/workloads/env.ts"
import type { Workload } from "../../core/workloads/workload.ts"
import type { GuestUser } from "../../ports/runtime/port.ts"
import { cwdIn, type Network, specOf } from "./rules.ts"
import type { SandboxRow } from "./store.ts"

export interface SandboxItem extends Workload {
  readonly kind: SandboxKind
  readonly defaults: CommandDefaults
  /** Those that have URLs. */
  readonly ports: readonly number[]
}

export const envOf = (box: SecretBox, { id, organization_id, env }: SandboxRow): Promise<Env> =>
  openEnv(box, { organizationId: organization_id, kind: "sandbox", id }, env)

export const toItem = (row: SandboxRow, env: Env, { root, config }: Image): SandboxItem => {
  const kind = row.kind as SandboxKind
  const { vcpus, memory_mb, disk_gb } = row
  return {
    kind,
    spec: {
      ...specOf({ kind, vcpus, memory_mb, disk_gb, network: row.network as Network }, root),
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
  }
}
