/** Driver name → driver. A driver's modules are loaded only when it is tried. */
import { PortError } from "../port-error.ts"
import { createAbsentRuntime } from "./absent.ts"
import type { NetworkDemand } from "./network/demand.ts"
import type { RuntimePort } from "./port.ts"
import type { RuntimeTrial } from "./trials.ts"

export interface RuntimeOptions {
  readonly dataDir: string
  readonly log: (line: string) => void
  /** By name, so that a driver that works with flaws is better than none. */
  readonly isDemanded: boolean
  /** Left out: workloads have none. */
  readonly network?: NetworkDemand
  /** Where the docker driver finds its daemon, as DOCKER_HOST has it. */
  readonly dockerHost?: string
  /** The program of the gvisor driver. Left out: the machine's own. */
  readonly runsc?: string | undefined
  /** For the kubernetes driver. */
  readonly kubernetes?: KubernetesSettings
  /** Where a kernel for guests of the qemu driver is: has `boot` and `lib/modules`. Left out: the machine's own. */
  readonly qemuKernel?: string | undefined
}

export interface KubernetesSettings {
  /** A kubeconfig, in YAML or JSON; left out: the service account of the Pod that this is. */
  readonly config?: string | undefined
  readonly namespace?: string | undefined
  readonly image?: string | undefined
  readonly runtimeClass?: string | undefined
  readonly storageClass?: string | undefined
  readonly seccompProfile?: string | undefined
}

interface Driver {
  /** Throws a PortError that says what it lacks. */
  readonly open: (options: RuntimeOptions) => Promise<RuntimePort>
  /** Of Debian and Ubuntu, with what it runs workloads by on this machine. */
  readonly packages: readonly string[]
  /** Whether it is taken without being named, where it works. */
  readonly isAutomatic: boolean
  /** Whether it is good enough for code of strangers. */
  readonly isForProduction: boolean
}

/** Strongest first. */
const drivers = {
  qemu: {
    open: async options => (await import("./drivers/qemu/driver.ts")).openQemuRuntime(options),
    packages: ["qemu-system-x86", "perl-base", "e2fsprogs"],
    // Whether KVM works is known after a boot, for which nobody waits who did not ask for it.
    isAutomatic: false,
    isForProduction: true,
  },
  gvisor: {
    open: async options => (await import("./drivers/gvisor/driver.ts")).openGvisorRuntime(options),
    packages: ["runsc", "e2fsprogs"],
    isAutomatic: true,
    isForProduction: true,
  },
  kubernetes: {
    open: async ({ kubernetes = {}, network, ...options }) => {
      const { openKubernetesRuntime } = await import("./drivers/kubernetes/driver.ts")
      const { findPlace } = await import("../kubernetes/place.ts")
      const { config, namespace, ...pods } = kubernetes
      const place = await findPlace({ config, namespace })
      const hasNetwork = network !== undefined && network.mode !== "none"
      return openKubernetesRuntime({ ...options, ...place, ...pods, hasNetwork })
    },
    packages: [],
    // A cluster is somebody's to give.
    isAutomatic: false,
    isForProduction: true,
  },
  docker: {
    open: async options => (await import("./drivers/docker/driver.ts")).openDockerRuntime(options),
    packages: ["docker.io", "perl-base", "e2fsprogs"],
    // It takes its time to start one, and what the operator may keep for other things.
    isAutomatic: false,
    isForProduction: true,
  },
  bubblewrap: {
    open: async options => (await import("./drivers/bubblewrap/driver.ts")).openBubblewrapRuntime(options),
    packages: ["bubblewrap", "e2fsprogs"],
    isAutomatic: true,
    isForProduction: false,
  },
  process: {
    open: async options => (await import("./drivers/process/driver.ts")).openProcessRuntime(options),
    packages: ["perl-base", "e2fsprogs"],
    isAutomatic: true,
    isForProduction: false,
  },
} satisfies Readonly<Record<string, Driver>>

export type RuntimeDriver = keyof typeof drivers
export const runtimeDrivers = Object.keys(drivers) as readonly RuntimeDriver[]
const table: Readonly<Record<RuntimeDriver, Driver>> = drivers

/** Those that have to be named. */
export const driversByName = runtimeDrivers.filter(name => !table[name].isAutomatic)
/** Those that are not for code of strangers. */
export const driversForOwnCode = runtimeDrivers.filter(name => !table[name].isForProduction)

/** The packages of Debian and Ubuntu that a driver runs with. */
export const packagesOf = (name: RuntimeDriver): readonly string[] => table[name].packages

/**
 * `demand`: that one or none; `auto`: the strongest that works here. Where none does, the port that is given refuses
 * every call and tells why.
 */
export const openRuntime = async (
  provider: Omit<RuntimeOptions, "isDemanded"> & {
    readonly demand: RuntimeDriver | "auto"
    readonly refusesWeak: boolean
  },
): Promise<RuntimePort> => {
  const { demand, refusesWeak, ...given } = provider
  const options = { ...given, isDemanded: demand !== "auto" }
  const candidates = runtimeDrivers.filter(name =>
    demand === "auto" ? table[name].isAutomatic : name === demand,
  )
  const reasons: string[] = []
  for (const name of candidates) {
    if (refusesWeak && !table[name].isForProduction) {
      reasons.push(`${name}: SVC_MODE=production refuses it, for its workloads share this machine's kernel`)
      continue
    }
    try {
      return await table[name].open(options)
    } catch (error) {
      if (!(error instanceof PortError)) throw error
      reasons.push(`${name}: ${error.message}`)
    }
  }
  return createAbsentRuntime(`no driver can run workloads (${reasons.join("; ")}); SVC_RUNTIME chooses one`)
}

/** Opens the driver that is demanded, or each that there is, one after another, and closes it again. */
export const tryRuntimes = async ({
  demand,
  ...given
}: Omit<RuntimeOptions, "isDemanded"> & { readonly demand: RuntimeDriver | "auto" }): Promise<
  readonly RuntimeTrial[]
> => {
  const trials: RuntimeTrial[] = []
  for (const driver of demand === "auto" ? runtimeDrivers : [demand]) {
    try {
      await using runtime = await table[driver].open({ ...given, isDemanded: true })
      trials.push({ driver, found: runtime.capabilities })
    } catch (error) {
      if (!(error instanceof PortError)) throw error
      trials.push({ driver, found: error.message, packages: packagesOf(driver) })
    }
  }
  return trials
}
