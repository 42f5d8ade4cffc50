/** Whether workloads get a network, as the operator wants it and as the machine can. */
import { PortError } from "../../port-error.ts"
import { openNetwork, type WorkloadNetwork } from "./network.ts"

export interface NetworkDemand {
  /** `auto`: where the machine can. */
  readonly mode: "auto" | "filtered" | "none"
  /** `address` or `address:port`; none: the machine's. */
  readonly nameServers: readonly string[]
}

export interface FoundNetwork {
  readonly network?: WorkloadNetwork
  /** What there is less of than could be and why. */
  readonly reasons: readonly string[]
}

interface Programs {
  readonly perl: string
  readonly nft: string | undefined
  readonly isRoot: boolean
}

/** Says why there is none, or rejects with it where one is demanded. */
export const withoutNetwork = (demand: NetworkDemand | undefined, error: unknown): FoundNetwork => {
  const reason = `workloads have no network: ${error instanceof Error ? error.message : String(error)}`
  if (demand?.mode === "filtered") throw new PortError("refused", reason, error)
  return { reasons: [reason] }
}

/** `demand` undefined: nobody asked. */
export const findNetwork = async (
  demand: NetworkDemand | undefined,
  { perl, nft, isRoot }: Programs,
  log: (line: string) => void,
): Promise<FoundNetwork> => {
  if (demand === undefined) return { reasons: [] }
  if (demand.mode === "none") return { reasons: ["workloads have no network: SVC_WORKLOAD_NETWORK is none"] }
  try {
    if (!isRoot) throw new PortError("refused", "only root can give them one")
    if (nft === undefined) throw new PortError("refused", "nft is missing: install the package nftables")
    const { nameServers } = demand
    const network = await openNetwork({ perl, nft, nameServers, log })
    return { network, reasons: network.reasons }
  } catch (error) {
    if (!(error instanceof PortError)) throw error
    return withoutNetwork(demand, error)
  }
}
