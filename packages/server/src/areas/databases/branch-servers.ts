/** Servers of branches as the SQL area sees them. */

import { fault } from "../../kernel/fault.ts"
import type { EnginePort } from "../../ports/engine/port.ts"
import type { ClientPortSettings } from "../../services/postgres/client-port.ts"
import { callEngine } from "./call-engine.ts"
import type { Compute } from "./compute.ts"
import type { Directory, ReadyBranch } from "./directory.ts"
import type { Freeing } from "./disk/freeing.ts"
import type { BranchListener, BranchServers } from "./offers.ts"

export interface OfferedServers {
  readonly servers: BranchServers
  /** Resolves when all who use the branch's server have let go of it. */
  ended(branch: ReadyBranch): Promise<void>
}

export const createBranchServers = (needs: {
  readonly clientPort: ClientPortSettings
  readonly engine: EnginePort
  readonly directory: Directory
  readonly compute: Pick<Compute, "acquire" | "wire">
  readonly freeing: Freeing
}): OfferedServers => {
  const { clientPort, engine, directory, compute, freeing } = needs
  const listeners = new Set<BranchListener>()
  const servers: BranchServers = {
    clientPort,
    find: directory.find,
    findById: directory.findById,
    async acquire(target, signal) {
      const branch = await directory.find(target)
      if (!branch) throw fault("branch_not_found")
      return callEngine(() => compute.acquire(branch, signal))
    },
    reportConnection: compute.wire,
    verifierOf: engine.capabilities.verifiers
      ? ({ volume }, role) => engine.verifierOf(volume, role)
      : undefined,
    sessionsToFree: freeing.sessionsFor,
    onEnded(listener) {
      listeners.add(listener)
      return { [Symbol.dispose]: () => void listeners.delete(listener) }
    },
  }
  return {
    servers,
    async ended(branch) {
      await Promise.all([...listeners].map(listener => listener(branch)))
    },
  }
}
