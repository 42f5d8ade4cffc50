/** What a request for a sandbox means here. */
import { BlockList, isIP } from "node:net"
import {
  type areas,
  type Input,
  SANDBOX_IDLE_SECONDS_DEFAULT,
  type SandboxKind,
  workloadLimits,
} from "@svc/contract"
import { fault } from "../../kernel/fault.ts"
import { SPECIAL_IPV4 } from "../../kernel/outbound/addresses.ts"
import type {
  GuestUser,
  NetworkPolicy,
  Root,
  RuntimeCapabilities,
  WorkloadSpec,
} from "../../ports/runtime/port.ts"
import type { Place } from "../../services/hosts/peers.ts"
import { HOST } from "../../services/images/images.ts"
import type { ImageConfig } from "../../services/images/manifest.ts"
import { checkRequest, GB, MB } from "../../services/workloads/shape.ts"

export type CreateInput = Input<(typeof areas.sandboxes.specs)["create"]>

/** As records show it. */
export interface Network {
  readonly mode: "allow_all" | "deny_all" | "custom"
  readonly allow: readonly string[]
  readonly deny: readonly string[]
}

/** A request with everything filled in. */
export interface Plan {
  readonly kind: SandboxKind
  readonly name: string | null
  readonly template: string
  readonly vcpus: number
  readonly memory_mb: number
  readonly disk_gb: number
  readonly timeout_seconds: number | null
  readonly idle_timeout_seconds: number
  readonly labels: Readonly<Record<string, string>>
  /** Null: where the image says. */
  readonly cwd: string | null
  readonly guest_user: GuestUser
  readonly network: Network
  readonly ports: readonly number[]
}

export const WORKSPACE = "/workspace"
/** Where files may be read and written by name. */
export const GUEST_ROOTS = [WORKSPACE, "/home/user", "/tmp"] as const
const PROCESSES_MAX = 512

export const boundsOf = (kind: SandboxKind) =>
  kind === "ephemeral" ? workloadLimits.ephemeral_sandbox : workloadLimits.persistent_sandbox

const defaults = {
  ephemeral: {
    vcpus: 1,
    memory_mb: 512,
    disk_gb: 1,
    timeout_seconds: 300,
    idle: SANDBOX_IDLE_SECONDS_DEFAULT,
  },
  persistent: { vcpus: 1, memory_mb: 1024, disk_gb: 10, timeout_seconds: 0, idle: 0 },
} as const

const isCidr = (text: string): boolean => {
  const [address = "", bits = "", ...rest] = text.split("/")
  const family = isIP(address)
  const widest = family === 6 ? 128 : 32
  return family !== 0 && rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= widest
}
/** Why nothing in a network is ever reached, whatever is allowed; undefined where something may be. */
const neverReached = (cidr: string): string | undefined => {
  const [address = "", bits = ""] = cidr.split("/")
  if (isIP(address) === 6) return "sandboxes have no IPv6"
  const around = SPECIAL_IPV4.find(special => {
    const [network = "", width = ""] = special.split("/")
    const list = new BlockList()
    list.addSubnet(network, Number(width), "ipv4")
    return Number(bits) >= Number(width) && list.check(address, "ipv4")
  })
  return around && `it is within ${around}, which is not the public Internet`
}

const checkReachable = (allow: readonly string[]): void => {
  for (const entry of allow.filter(isCidr)) {
    const reason = neverReached(entry)
    if (reason !== undefined)
      throw fault("invalid_parameter", { reason: `network.allow: ${entry} is never reached: ${reason}` })
  }
}

const DOMAIN = /^(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/i

const networkOf = (asked: CreateInput["network"], capabilities: RuntimeCapabilities): Network => {
  const filters = capabilities.network === "filtered"
  if (asked === undefined) return { mode: filters ? "allow_all" : "deny_all", allow: [], deny: [] }
  const { mode, allow = [], deny = [] } = asked
  if (mode !== "custom" && (allow.length > 0 || deny.length > 0))
    throw fault("invalid_parameter", { reason: "network.allow and network.deny go with the mode custom" })
  const wrong =
    allow.find(entry => !isCidr(entry) && !DOMAIN.test(entry)) ?? deny.find(entry => !isCidr(entry))
  if (wrong !== undefined)
    throw fault("invalid_parameter", { reason: `${wrong} is no domain or CIDR that network takes there` })
  checkReachable(allow)
  if (mode !== "deny_all" && !filters)
    throw fault("not_implemented", {
      reason: `sandboxes of the driver ${capabilities.driver} have no network here; root, nftables and SVC_WORKLOAD_NETWORK give one`,
    })
  return { mode, allow, deny }
}

export const policyOf = ({ mode, allow, deny }: Network): NetworkPolicy => {
  if (mode === "deny_all") return { mode: "none" }
  return { mode: "filtered", allow: mode === "custom" ? allow : null, deny }
}

const timeoutOf = (kind: SandboxKind, seconds: number): number | null => {
  const { max } = boundsOf(kind).timeout_seconds
  if (max === null) return seconds === 0 ? null : seconds
  if (seconds === 0) throw fault("invalid_parameter", { reason: "an ephemeral sandbox has a hard deadline" })
  if (seconds > max)
    throw fault("plan_limit_reached", { limit: max, resources: `seconds of an ${kind} sandbox` })
  return seconds
}

/** What it asks of a host. */
export const placeOf = ({ kind = "ephemeral", isolation, ...input }: CreateInput): Place => ({
  memoryBytes: (input.memory_mb ?? defaults[kind].memory_mb) * MB,
  isolation,
})

/** Throws the refusal that fits when this installation or plan does not have what is asked for. */
export const planOf = (input: CreateInput, capabilities: RuntimeCapabilities): Plan => {
  const { kind = "ephemeral", template = HOST, name = null, labels = {} } = input
  const otherwise = defaults[kind]
  const { vcpus = otherwise.vcpus, memory_mb = otherwise.memory_mb, disk_gb = otherwise.disk_gb } = input
  checkRequest(
    {
      vcpus,
      memory_mb,
      disk_gb,
      image: template,
      isPersistent: kind === "persistent",
      isolation: input.isolation,
      env: input.env,
      labels,
    },
    capabilities,
    boundsOf(kind),
    ({ max, unit }) =>
      fault("plan_limit_reached", { limit: max, resources: `${unit} in an ${kind} sandbox` }),
  )
  return {
    ...{ kind, name, template, vcpus, memory_mb, disk_gb, labels },
    timeout_seconds: timeoutOf(kind, input.timeout_seconds ?? otherwise.timeout_seconds),
    idle_timeout_seconds: input.idle_timeout_seconds ?? otherwise.idle,
    cwd: input.cwd ?? null,
    guest_user: input.user ?? "user",
    network: networkOf(input.network, capabilities),
    ports: [...new Set(input.ports ?? [])],
  }
}

/** Where commands begin that do not say where. */
export const cwdIn = ({ workingDir }: ImageConfig): string => workingDir ?? WORKSPACE

/** All of a workload but its id: what it has in common with others that could take its place. */
export type SpecOfMany = Omit<WorkloadSpec, "id">

export const specOf = (
  plan: Pick<Plan, "kind" | "vcpus" | "memory_mb" | "disk_gb" | "network">,
  root: Root,
): SpecOfMany => ({
  hostname: "sandbox",
  root,
  disk: { kind: plan.kind === "ephemeral" ? "scratch" : "persistent", bytes: plan.disk_gb * GB },
  vcpus: plan.vcpus,
  memoryBytes: plan.memory_mb * MB,
  processesMax: PROCESSES_MAX,
  network: policyOf(plan.network),
  mounts: [],
})

/** The later deadline: never further ahead than the kind's longest timeout. */
export const extendedDeadline = (
  kind: SandboxKind,
  expiresAtMs: number,
  durationSeconds: number,
  nowMs: number,
): number => {
  const { max } = boundsOf(kind).timeout_seconds
  const wanted = expiresAtMs + durationSeconds * 1000
  return max === null ? wanted : Math.max(expiresAtMs, Math.min(wanted, nowMs + max * 1000))
}
