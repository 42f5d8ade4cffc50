import type { AreaState } from "../../kernel/area.ts"
import type { RuntimePort } from "../../ports/runtime/port.ts"

/** Why no step can be run on this installation, with the setting that changes it; undefined where steps can. */
export const whyNoSteps = ({ capabilities }: RuntimePort): string | undefined => {
  const { driver, roots, perl, reasons } = capabilities
  if (driver !== "none" && roots.includes("image") && perl) return undefined
  const why =
    driver === "none"
      ? (reasons[0] ?? "nothing here runs workloads")
      : `the driver ${driver} has none for builds`
  return `RUN needs workloads that begin as images, and ${why}; SVC_RUNTIME=bubblewrap or SVC_RUNTIME=gvisor gives them, with the package bubblewrap or runsc`
}

/** Dockerfiles without RUN are built wherever the platform runs. */
export const stateOf = (runtime: RuntimePort): AreaState => {
  const reason = whyNoSteps(runtime)
  if (reason !== undefined) return { status: "available", capabilities: { run: false, reason } }
  const { isolation, network } = runtime.capabilities
  return { status: "available", capabilities: { run: true, isolation, network } }
}
