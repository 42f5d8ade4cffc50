/** What a request for a computer means here. */
import { type areas, type Input, workloadLimits } from "@svc/contract"
import { fault } from "../../kernel/fault.ts"
import type { Root, RuntimeCapabilities, WorkloadSpec } from "../../ports/runtime/port.ts"
import type { Place } from "../../services/hosts/peers.ts"
import { HOST } from "../../services/images/images.ts"
import { checkRequest, GB, MB } from "../../services/workloads/shape.ts"
import { readPublicKeys } from "./ssh-keys.ts"

export type CreateInput = Omit<Input<(typeof areas.computers.specs)["create"]>, "name">

/** A request with everything filled in. */
export interface Plan {
  readonly vcpus: number
  readonly memory_mb: number
  readonly disk_gb: number
  readonly image: string
  readonly ssh_keys: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  readonly auto_stop_seconds: number
}

const DNS_LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
const PROCESSES_MAX = 4_096
const MEMORY_MB = 1024
export const HOME = "/home/user"

export const checkName = (name: string): string => {
  if (!DNS_LABEL.test(name))
    throw fault("invalid_name", {
      reason: "it is not a DNS label of at most 63 lower-case letters, digits and hyphens",
    })
  return name
}

/** What it asks of a host. */
export const placeOf = ({ memory_mb = MEMORY_MB, isolation }: CreateInput): Place => ({
  memoryBytes: memory_mb * MB,
  isolation,
})

export const planOf = (input: CreateInput, capabilities: RuntimeCapabilities): Plan => {
  const { vcpus = 1, memory_mb = MEMORY_MB, disk_gb = 10, labels = {}, image = HOST } = input
  checkRequest(
    {
      vcpus,
      memory_mb,
      disk_gb,
      image,
      isPersistent: true,
      isolation: input.isolation,
      env: input.env,
      labels,
    },
    capabilities,
    workloadLimits.compute,
    ({ max, unit }) => fault("invalid_resource_shape", { reason: `at most ${max} ${unit} are allowed` }),
  )
  return {
    vcpus,
    memory_mb,
    disk_gb,
    labels,
    image,
    ssh_keys: readPublicKeys(input.ssh_keys ?? []),
    auto_stop_seconds: input.auto_stop_seconds ?? 0,
  }
}

export const specOf = (
  of: Pick<Plan, "vcpus" | "memory_mb" | "disk_gb"> & {
    readonly id: string
    readonly name: string
    readonly private_ip: string
  },
  capabilities: RuntimeCapabilities,
  root: Root,
): WorkloadSpec => ({
  id: of.id,
  hostname: of.name,
  root,
  disk: { kind: "persistent", bytes: of.disk_gb * GB },
  vcpus: of.vcpus,
  memoryBytes: of.memory_mb * MB,
  processesMax: PROCESSES_MAX,
  network:
    capabilities.network === "filtered"
      ? { mode: "filtered", allow: null, deny: [], address: of.private_ip }
      : { mode: "none" },
  mounts: [],
})
