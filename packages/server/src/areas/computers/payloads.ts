import type { ComputerPayload, ComputerStatus } from "@svc/contract"
import { toWorkloadPayload } from "../../services/workloads/payload.ts"
import type { ComputerRow } from "./store.ts"

export interface SshAddress {
  readonly host: string
  readonly port: number
  /** Its public key, as known_hosts has it, and the fingerprint of that. */
  readonly hostKey: string
  readonly fingerprint: string
}

export const toComputer = (
  row: ComputerRow,
  lastUsedMs: number | undefined,
  ssh: SshAddress | undefined,
): ComputerPayload => ({
  ...toWorkloadPayload(row, lastUsedMs),
  name: row.name,
  image: row.image,
  ssh_keys: row.ssh_keys,
  auto_stop_seconds: row.auto_stop_seconds,
  ssh_host: ssh?.host ?? null,
  ssh_port: ssh?.port ?? null,
  ssh_host_key: ssh?.hostKey ?? null,
  ssh_host_fingerprint: ssh?.fingerprint ?? null,
  status: row.status as ComputerStatus,
})
