/** A computer's row as something that runs. */
import type { Image } from "../../core/images/images.ts"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { CommandDefaults } from "../../core/workloads/commands.ts"
import { type Env, openEnv } from "../../core/workloads/env.ts"
import type { Workload } from "../../core/workloads/workload.ts"
import type { RuntimeCapabilities } from "../../ports/runtime/port.ts"
import { specOf } from "./rules.ts"
import type { ComputerRow } from "./store.ts"

export interface ComputerItem extends Workload {
  readonly defaults: CommandDefaults
}

export const envOf = (box: SecretBox, { id, organization_id, env }: ComputerRow): Promise<Env> =>
  openEnv(box, { organizationId: organization_id, kind: "computer", id }, env)

export const toItem = (
  row: ComputerRow,
  env: Env,
  capabilities: RuntimeCapabilities,
  { root, config }: Image,
): ComputerItem => ({
  spec: specOf(row, capabilities, root),
  organizationId: row.organization_id,
  ownerId: row.owner_id,
  projectId: row.project_id,
  idleMs: row.auto_stop_seconds * 1000,
  defaults: { cwd: "/home/user", user: "user", env: { ...config.env, ...env } },
})
