/** What an image says of how it is run (OCI image specification 1.1, config.md), as instructions change it. */
import { isJsonObject } from "../../../kernel/json-object.ts"

export interface Health {
  readonly Test: readonly string[]
  readonly Interval?: number
  readonly Timeout?: number
  readonly StartPeriod?: number
  readonly Retries?: number
}

export interface ImageState {
  /** In the order in which they were set. */
  readonly env: ReadonlyMap<string, string>
  readonly cmd: readonly string[] | null
  /** Set by this Dockerfile, and not by its base. */
  readonly hasOwnCmd: boolean
  readonly entrypoint: readonly string[] | null
  readonly workdir: string
  readonly user: string
  readonly ports: readonly string[]
  readonly volumes: readonly string[]
  readonly labels: ReadonlyMap<string, string>
  readonly shell: readonly string[] | null
  readonly stopSignal: string | null
  readonly health: Health | null
  readonly onBuild: readonly string[]
  readonly history: readonly HistoryEntry[]
}

export interface HistoryEntry {
  readonly created?: string
  readonly created_by?: string
  readonly comment?: string
  readonly empty_layer?: boolean
}

export const PATH_DEFAULT = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
export const SHELL_DEFAULT: readonly string[] = ["/bin/sh", "-c"]

export const emptyState: ImageState = {
  ...{
    env: new Map(),
    cmd: null,
    hasOwnCmd: false,
    entrypoint: null,
    workdir: "",
    user: "",
    ports: [],
    volumes: [],
  },
  ...{ labels: new Map(), shell: null, stopSignal: null, health: null, onBuild: [], history: [] },
}

type Json = Readonly<Record<string, unknown>>
const objectOf = (value: unknown): Json => (isJsonObject(value) ? value : {})
const textOf = (value: unknown): string => (typeof value === "string" ? value : "")
const listOf = (value: unknown): string[] | null =>
  Array.isArray(value) ? value.filter(each => typeof each === "string") : null

const envOf = (value: unknown): Map<string, string> => {
  const env = new Map<string, string>()
  for (const entry of listOf(value) ?? []) {
    const at = entry.indexOf("=")
    if (at > 0) env.set(entry.slice(0, at), entry.slice(at + 1))
  }
  return env
}

const labelsOf = (value: unknown): Map<string, string> =>
  new Map(Object.entries(objectOf(value)).map(([name, label]) => [name, textOf(label)]))

/** Of the configuration that a base image has. */
export const stateOf = (document: Json): ImageState => {
  const config = objectOf(document.config)
  const health = objectOf(config.Healthcheck)
  return {
    env: envOf(config.Env),
    cmd: listOf(config.Cmd),
    hasOwnCmd: false,
    entrypoint: listOf(config.Entrypoint),
    workdir: textOf(config.WorkingDir),
    user: textOf(config.User),
    ports: Object.keys(objectOf(config.ExposedPorts)),
    volumes: Object.keys(objectOf(config.Volumes)),
    labels: labelsOf(config.Labels),
    shell: listOf(config.Shell),
    stopSignal: textOf(config.StopSignal) || null,
    health: listOf(health.Test) ? (health as unknown as Health) : null,
    onBuild: listOf(config.OnBuild) ?? [],
    history: Array.isArray(document.history) ? (document.history as HistoryEntry[]) : [],
  }
}

const emptyObjects = (names: readonly string[]) =>
  Object.fromEntries([...names].sort().map(name => [name, {}]))

/** The configuration as an image has it. */
export const documentOf = (
  state: ImageState,
  image: { readonly architecture: string; readonly diffIds: readonly string[]; readonly created: string },
): Json => ({
  created: image.created,
  architecture: image.architecture,
  os: "linux",
  config: {
    ...(state.user !== "" && { User: state.user }),
    ...(state.ports.length > 0 && { ExposedPorts: emptyObjects(state.ports) }),
    Env: [...state.env].map(([name, value]) => `${name}=${value}`),
    ...(state.entrypoint && { Entrypoint: state.entrypoint }),
    ...(state.cmd && { Cmd: state.cmd }),
    ...(state.volumes.length > 0 && { Volumes: emptyObjects(state.volumes) }),
    ...(state.workdir !== "" && { WorkingDir: state.workdir }),
    ...(state.labels.size > 0 && { Labels: Object.fromEntries(state.labels) }),
    ...(state.stopSignal !== null && { StopSignal: state.stopSignal }),
    ...(state.health && { Healthcheck: state.health }),
    ...(state.shell && { Shell: state.shell }),
    ...(state.onBuild.length > 0 && { OnBuild: state.onBuild }),
  },
  rootfs: { type: "layers", diff_ids: image.diffIds },
  history: state.history,
})
