/** Driver name → driver. A driver's modules are loaded only when it is tried. */
import { PortError } from "../port-error.ts"
import { createAbsentRuntime } from "./absent.ts"
import type { RuntimePort } from "./port.ts"

export interface RuntimeOptions {
  readonly dataDir: string
  readonly log: (line: string) => void
  /** By name, so that a driver that works with flaws is better than none. */
  readonly isDemanded: boolean
}

/** Strongest first. Each throws a PortError that says what it lacks. */
const drivers = {
  gvisor: async (options: RuntimeOptions) =>
    (await import("./drivers/gvisor/driver.ts")).openGvisorRuntime(options),
  process: async (options: RuntimeOptions) =>
    (await import("./drivers/process/driver.ts")).openProcessRuntime(options),
} satisfies Readonly<Record<string, (options: RuntimeOptions) => Promise<RuntimePort>>>

export type RuntimeDriver = keyof typeof drivers
export const runtimeDrivers = Object.keys(drivers) as readonly RuntimeDriver[]

/** Good enough for one's own code, not for that of strangers. */
const weak: ReadonlySet<RuntimeDriver> = new Set(["process"])

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
  const reasons: string[] = []
  for (const name of demand === "auto" ? runtimeDrivers : [demand]) {
    if (refusesWeak && weak.has(name)) {
      reasons.push(`${name}: SVC_MODE=production refuses it, for its workloads share this machine's kernel`)
      continue
    }
    try {
      return await drivers[name](options)
    } catch (error) {
      if (!(error instanceof PortError)) throw error
      reasons.push(`${name}: ${error.message}`)
    }
  }
  return createAbsentRuntime(`no driver can run workloads (${reasons.join("; ")}); SVC_RUNTIME chooses one`)
}
