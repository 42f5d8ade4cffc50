/** Clients of PostgreSQL's protocol on their way to the servers of branches. */
import { join } from "node:path"
import { isFault } from "../../kernel/fault.ts"
import type { Logger } from "../../kernel/log.ts"
import { DATABASE_NAME, type Endpoint } from "../../ports/engine/port.ts"
import { certificateOf } from "../../services/postgres/client-port.ts"
import type { Target } from "../../services/postgres/target.ts"
import type { BranchServers } from "../databases/offers.ts"
import { SQLSTATE, WireRefusal, wrongPassword } from "./wire/error-response.ts"
import type { WireCall, WireTarget } from "./wire/messages.ts"
import { createWire, type Wire } from "./wire/wire.ts"

export interface WireAccessNeeds {
  readonly servers: BranchServers
  readonly log: Logger
  readonly calls: (calls: readonly WireCall[], branchOf: (id: string) => Target | undefined) => void
}

/** Of the connections that a server takes, those that HTTP and the platform itself do not need. */
const CONNECTIONS_MAX = 75

const wireTargetOf = ({ host, port, wakeMs, tls }: Endpoint): WireTarget => {
  const common = { wakeMs, connectionsMax: CONNECTIONS_MAX }
  if (host.startsWith("/")) return { ...common, socketPath: join(host, `.s.PGSQL.${port}`) }
  return { ...common, host, port, ...(tls && { tls }) }
}

/** Branches that had a connection lately, for what comes in about them later. */
const KNOWN_MAX = 1_000

const causeOf = (error: unknown): unknown => (isFault(error) ? (error.details.internal ?? error) : error)

export const openWireAccess = ({ servers, log, calls }: WireAccessNeeds): Wire => {
  const known = new Map<string, Target>()

  const remember = (branch: Target) => {
    known.delete(branch.branchId)
    known.set(branch.branchId, branch)
    const [oldest] = known.keys()
    if (known.size > KNOWN_MAX && oldest !== undefined) known.delete(oldest)
  }

  /** Works on a branch's server while it is kept running. */
  const withServer = async <Result>(
    { branchId, user }: { branchId: string; user: string },
    work: (branch: Target, endpoint: Endpoint) => Result | Promise<Result>,
  ): Promise<Result> => {
    const branch = await servers.findById(branchId)
    if (!branch) throw wrongPassword(user)
    remember(branch)
    try {
      using lease = await servers.acquire(branch)
      return await work(branch, lease.endpoint)
    } catch (error) {
      log.warn({ err: causeOf(error), branch: branch.branchId }, "resuming a suspended database failed")
      throw new WireRefusal({
        sqlstate: SQLSTATE.cannotConnectNow,
        message: `the database "${DATABASE_NAME}" cannot be started now`,
        hint: "Try again in a few seconds.",
      })
    }
  }

  const { verifierOf } = servers
  return createWire({
    requireTls: servers.clientPort.requireTls,
    tls: () => certificateOf(servers.clientPort),
    log,
    open: request => withServer(request, (_branch, endpoint) => wireTargetOf(endpoint)),
    verifier: verifierOf && (request => withServer(request, branch => verifierOf(branch, request.user))),
    activity(events) {
      for (const { branchId, connectionId, kind } of events) {
        const state = kind === "busy" || kind === "listening" ? "busy" : kind === "closed" ? "closed" : "open"
        servers.reportConnection(branchId, connectionId, state)
      }
    },
    calls: seen => calls(seen, id => known.get(id)),
  })
}
