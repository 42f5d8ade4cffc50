import type { AreaState } from "../../kernel/area.ts"
import { type EngineChoice, type Probe, probeWireGuard } from "./wireguard/probe.ts"

/** Looked for once: the status page asks often, and a machine seldom changes. */
const probes = new Map<EngineChoice, Promise<Probe>>()

export const probeOnce = (choice: EngineChoice): Promise<Probe> => {
  const known = probes.get(choice) ?? probeWireGuard(choice)
  probes.set(choice, known)
  return known
}

export const whyUnavailable = ({ reasons }: Probe): string => reasons.join("; ")

export const engineState = async (choice: EngineChoice): Promise<AreaState> => {
  const probe = await probeOnce(choice)
  return probe.kind
    ? { status: "available", capabilities: { engine: probe.kind } }
    : { status: "not_configured", reason: whyUnavailable(probe), setting: "SVC_VPC" }
}
