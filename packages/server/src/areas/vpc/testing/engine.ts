/** Whether this machine runs private networks. */
import { probeWireGuard } from "../wireguard/probe.ts"

export const { kind: engineHere, reasons } = await probeWireGuard("auto")
/** For `skip`: false where they run. */
export const whyNot: string | false = engineHere ? false : `takes WireGuard: ${reasons.join("; ")}`
