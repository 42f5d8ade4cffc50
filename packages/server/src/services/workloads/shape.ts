/** What sandboxes and computers may ask of a host. */
import { type Bounds, WORKLOAD_ENV_BYTES_MAX, WORKLOAD_ENV_MAX, WORKLOAD_LABELS_MAX } from "@svc/contract"
import { fault } from "../../kernel/fault.ts"
import { type Isolation, isAsStrong, type RuntimeCapabilities } from "../../ports/runtime/port.ts"
import { HOST } from "../images/images.ts"

export const MB = 2 ** 20
export const GB = 2 ** 30

export interface Shape {
  readonly vcpus: number
  readonly memory_mb: number
  readonly disk_gb: number
}

const units = { vcpus: "vCPUs", memory_mb: "MB of memory", disk_gb: "GB of disk" } as const

/** Throws `invalid_resource_shape` for what is below its bounds, and for what is above them `tooMuch`. */
const checkShape = (
  shape: Shape,
  bounds: Readonly<Record<keyof Shape, Bounds>>,
  tooMuch: (what: { readonly max: number; readonly unit: string; readonly field: keyof Shape }) => Error,
): void => {
  for (const field of ["vcpus", "memory_mb", "disk_gb"] as const) {
    const { min = 0, max } = bounds[field]
    const value = shape[field]
    const unit = units[field]
    if (value < min) throw fault("invalid_resource_shape", { reason: `at least ${min} ${unit} are needed` })
    if (max !== null && value > max) throw tooMuch({ max, unit, field })
  }
}

/** Refuses where nothing runs workloads. */
const checkRuns = ({ driver, reasons }: RuntimeCapabilities): void => {
  if (driver === "none")
    throw fault("not_implemented", { reason: reasons[0] ?? "nothing runs workloads here" })
}

/** Refuses to be weaker than what is demanded. */
const checkIsolation = (demanded: Isolation | undefined, { isolation }: RuntimeCapabilities): void => {
  if (demanded !== undefined && !isAsStrong(isolation, demanded))
    throw fault("isolation_tier_unavailable", { isolation: demanded })
}

/** Refuses images where nothing starts them. */
const checkRoot = (name: string, { driver, roots }: RuntimeCapabilities): void => {
  if (name !== HOST && !roots.includes("image"))
    throw fault("not_implemented", { reason: `the driver ${driver} starts nothing but \`${HOST}\` here` })
}

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/
const LABEL_LENGTH_MAX = 128

export const checkEnv = (env: Readonly<Record<string, string>> = {}): void => {
  const entries = Object.entries(env)
  if (entries.length > WORKLOAD_ENV_MAX)
    throw fault("invalid_parameter", { reason: `env has more than ${WORKLOAD_ENV_MAX} variables` })
  const wrong = entries.find(([name]) => !VARIABLE.test(name))
  if (wrong)
    throw fault("invalid_parameter", { reason: `env names no variable with ${wrong[0].slice(0, 64)}` })
  const bytes = entries.reduce((sum, [name, value]) => sum + name.length + Buffer.byteLength(value), 0)
  if (bytes > WORKLOAD_ENV_BYTES_MAX)
    throw fault("invalid_parameter", { reason: `env has more than ${WORKLOAD_ENV_BYTES_MAX} bytes` })
}

const checkLabels = (labels: Readonly<Record<string, string>> = {}): void => {
  const names = Object.keys(labels)
  if (names.length > WORKLOAD_LABELS_MAX)
    throw fault("invalid_parameter", { reason: `there are more than ${WORKLOAD_LABELS_MAX} labels` })
  if (names.some(name => name.length === 0 || name.length > LABEL_LENGTH_MAX))
    throw fault("invalid_parameter", { reason: `a label's name has 1 to ${LABEL_LENGTH_MAX} characters` })
}

/** What every kind of workload is asked for by. */
export interface WorkloadRequest extends Shape {
  readonly image: string
  readonly isPersistent: boolean
  readonly isolation: Isolation | undefined
  readonly env: Readonly<Record<string, string>> | undefined
  readonly labels: Readonly<Record<string, string>>
}

/** Throws the fault that fits when this installation, or the bounds of the kind, do not have what is asked for. */
export const checkRequest = (
  { vcpus, memory_mb, disk_gb, image, isPersistent, isolation, env, labels }: WorkloadRequest,
  capabilities: RuntimeCapabilities,
  bounds: Readonly<Record<keyof Shape, Bounds>>,
  tooMuch: Parameters<typeof checkShape>[2],
): void => {
  checkRuns(capabilities)
  checkShape({ vcpus, memory_mb, disk_gb }, bounds, tooMuch)
  checkIsolation(isolation, capabilities)
  checkRoot(image, capabilities)
  if (isPersistent && !capabilities.persistentDisks)
    throw fault("not_implemented", { reason: `the driver ${capabilities.driver} has no persistent disks` })
  checkEnv(env)
  checkLabels(labels)
}
