/** What a Docker daemon says of itself, and the containers in it that are ours. */
import { PortError } from "../../../port-error.ts"
import type { DockerApi } from "./api.ts"

/** Of GET /info. */
export interface DaemonInfo {
  readonly OSType?: string
  readonly MemoryLimit?: boolean
  readonly CpuCfsQuota?: boolean
  readonly PidsLimit?: boolean
  readonly SwapLimit?: boolean
  readonly SecurityOptions?: readonly string[] | null
}

/** Of GET /containers/{id}/json. */
export interface ContainerState {
  readonly State: { readonly Pid: number; readonly ExitCode: number; readonly OOMKilled: boolean }
}

const INSTANCE_LABEL = "svc.instance"
const WORKLOAD_LABEL = "svc.workload"
/** Docker's numbers for: it is not there; it is being removed already. */
const GONE = [404, 409]
const ENDED_BY_SIGKILL = 137

export interface Containers {
  labels(id: string): Readonly<Record<string, string>>
  nameOf(id: string): string
  /** The workloads that have one. */
  list(): Promise<readonly string[]>
  /** Gives its number. One of the same name is what a crash left. */
  create(id: string, config: object): Promise<string>
  inspect(container: string): Promise<ContainerState>
  /** Whether it ended for want of memory. */
  wasOutOfMemory(container: string): Promise<boolean>
  remove(container: string): Promise<void>
}

/** `instance` tells those of one data folder from those of another. */
export const createContainers = (api: DockerApi, instance: string): Containers => {
  const nameOf = (id: string) => `svc-${instance}-${id}`
  const remove = async (container: string) => {
    await api.call("DELETE", `/containers/${container}`, { query: { force: "1", v: "1" }, accepts: GONE })
  }
  const inspect = async (container: string) =>
    (await api.call("GET", `/containers/${container}/json`)) as ContainerState
  return {
    nameOf,
    labels: id => ({ [INSTANCE_LABEL]: instance, [WORKLOAD_LABEL]: id }),
    async list() {
      const filters = JSON.stringify({ label: [`${INSTANCE_LABEL}=${instance}`] })
      const found = await api.call("GET", "/containers/json", { query: { all: "1", filters } })
      const containers = found as readonly { readonly Labels: Readonly<Record<string, string>> }[]
      return containers.flatMap(({ Labels }) => Labels[WORKLOAD_LABEL] ?? [])
    },
    async create(id, config) {
      await remove(nameOf(id))
      const created = await api.call("POST", "/containers/create", {
        query: { name: nameOf(id) },
        body: config,
      })
      return (created as { Id: string }).Id
    },
    inspect,
    async wasOutOfMemory(container) {
      const { State } = await inspect(container)
      return State.OOMKilled && State.ExitCode === ENDED_BY_SIGKILL
    },
    remove,
  }
}

export const hasSecurity = ({ SecurityOptions }: DaemonInfo, name: string): boolean =>
  SecurityOptions?.some(option => option.split(",").includes(`name=${name}`)) ?? false

export const demandLinux = async (api: DockerApi): Promise<DaemonInfo> => {
  const info = (await api.call("GET", "/info")) as DaemonInfo
  if (info.OSType !== "linux") throw new PortError("refused", "this Docker does not run containers of Linux")
  return info
}
