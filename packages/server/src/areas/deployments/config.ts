/** Reads and checks what is to be deployed. */
import {
  type areas,
  DEPLOYMENT_MEMORY_MB_DEFAULT,
  DEPLOYMENT_PORTS_DEFAULT,
  DEPLOYMENT_RETRIES_DEFAULT,
  DEPLOYMENT_VCPUS_DEFAULT,
  type Input,
  RUN_ENV_BYTES_MAX,
} from "@svc/contract"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import type { RuntimePort } from "../../ports/runtime/port.ts"
import { HOST, type Images } from "../../services/images/images.ts"
import { type Env, openEnv, sealEnv } from "../../services/workloads/env.ts"
import { envPlace } from "./specs.ts"
import { runsMachines, whyNone } from "./state.ts"
import type { VersionRow } from "./store.ts"

export type DeployInput = Omit<Input<(typeof areas.deployments.specs)["create"]>, "name">

export interface ConfigNeeds {
  readonly box: SecretBox
  readonly images: Pick<Images, "check">
  readonly runtime: Pick<RuntimePort, "capabilities">
}

export type Config = Omit<
  VersionRow,
  | ("organization_id" | "deployment_id" | "version_id" | "number" | "deployed_at")
  | ("version_status" | "version_reason" | "env" | "env_names")
>

const CONFIG = [
  ...(["image", "kind", "command", "args", "env", "ports", "vcpus", "memory_mb", "health_check"] as const),
  ...(["restart_policy", "max_retries"] as const),
] as const

/** Whether it changes what runs, and not only how much of it. */
export const isNewVersion = (input: DeployInput): boolean => CONFIG.some(field => input[field] !== undefined)

const invalid = (reason: string) => fault("invalid_parameter", { reason })

const commandOf = (command: DeployInput["command"]): string[] | undefined =>
  typeof command === "string" ? ["/bin/sh", "-c", command] : command && [...command]

const healthColumns = ({ health_check: given }: DeployInput, before: Config | undefined) => {
  if (!given && before) {
    const { health_port, health_path, health_interval_seconds, health_timeout_seconds } = before
    const { health_grace_seconds, unhealthy_threshold } = before
    return {
      ...{ health_port, health_path, health_interval_seconds, health_timeout_seconds },
      ...{ health_grace_seconds, unhealthy_threshold },
    }
  }
  return {
    health_port: given?.port ?? null,
    health_path: given?.path ?? null,
    health_interval_seconds: given?.interval_seconds ?? 10,
    health_timeout_seconds: given?.timeout_seconds ?? 5,
    health_grace_seconds: given?.grace_period_seconds ?? 60,
    unhealthy_threshold: given?.unhealthy_threshold ?? 3,
  }
}

/** The next version: what is given, else what the one before has, else the defaults. */
const columnsOf = (input: DeployInput, before: Config | undefined): Config => {
  const image = input.image ?? before?.image
  if (image === undefined) throw fault("missing_parameter", { field: "image" })
  return {
    image,
    // Named again it is asked for again, whatever it stood for before.
    image_digest: input.image === undefined ? (before?.image_digest ?? null) : null,
    kind: input.kind ?? before?.kind ?? "container",
    command: commandOf(input.command) ?? before?.command ?? null,
    args: input.args ?? before?.args ?? null,
    ports: input.ports ?? before?.ports ?? [...DEPLOYMENT_PORTS_DEFAULT],
    vcpus: input.vcpus ?? before?.vcpus ?? DEPLOYMENT_VCPUS_DEFAULT,
    memory_mb: input.memory_mb ?? before?.memory_mb ?? DEPLOYMENT_MEMORY_MB_DEFAULT,
    restart_policy: input.restart_policy ?? before?.restart_policy ?? "always",
    max_retries: input.max_retries ?? before?.max_retries ?? DEPLOYMENT_RETRIES_DEFAULT,
    ...healthColumns(input, before),
  }
}

/** Throws `not_implemented` for what cannot run here, with the setting that would let it. */
const checkHost = ({ runtime: { capabilities } }: ConfigNeeds, { image, kind }: Config) => {
  const reason = whyNone(capabilities)
  if (reason !== undefined) throw fault("not_implemented", { reason })
  const { driver, roots } = capabilities
  if (image !== HOST && !roots.includes("image"))
    throw fault("not_implemented", { reason: `the driver ${driver} starts no images here (SVC_RUNTIME)` })
  if (kind === "vm" && !runsMachines(capabilities))
    throw fault("not_implemented", {
      reason: `the driver ${driver} runs no virtual machines, so only the kind container can be deployed (SVC_RUNTIME)`,
    })
}

/** Reads and checks it, before anything is written. */
export const readConfig = (needs: ConfigNeeds, input: DeployInput, before: Config | undefined): Config => {
  const columns = columnsOf(input, before)
  const { image, command, ports, health_path, health_port } = columns
  checkHost(needs, columns)
  if (input.image !== undefined) needs.images.check(input.image)
  if (image === HOST && command === null) throw fault("missing_parameter", { field: "command" })
  if (typeof input.command === "string" && input.args?.length)
    throw invalid("args: only a command that is a list takes arguments")
  if (new Set(ports).size !== ports.length) throw invalid("ports: one is there twice")
  if (ports.length === 0 && (health_path !== null || health_port !== null))
    throw invalid("health_check: without ports there is nothing to ask")
  return columns
}

const checkEnv = (env: Env) => {
  const entries = Object.entries(env)
  const bytes = entries.reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value),
    0,
  )
  if (bytes > RUN_ENV_BYTES_MAX) throw invalid(`env: more than ${RUN_ENV_BYTES_MAX} bytes`)
  if (entries.some(([, value]) => value.includes("\0")))
    throw invalid("env: values cannot hold null characters")
}

/** What is sealed is bound to its version, so it is sealed anew for the next one. */
export const readEnv = async (
  box: SecretBox,
  versionId: string,
  { env: given }: DeployInput,
  before: Pick<VersionRow, "version_id" | "env"> | undefined,
  call: Call,
): Promise<Pick<VersionRow, "env" | "env_names">> => {
  const { id } = call.organization
  const env = given ?? (before ? await openEnv(box, envPlace(id, before.version_id), before.env) : {})
  checkEnv(env)
  return { env: await sealEnv(box, envPlace(id, versionId), env), env_names: Object.keys(env).sort() }
}
