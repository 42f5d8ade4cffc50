/** The pools of a proxy, and how many connections those of a branch may have. */
import { randomUUID } from "node:crypto"
import { SQLSTATE, WireRefusal } from "../error-response.ts"
import type { LiveSession } from "../live-session.ts"
import type { WireLimits } from "../messages.ts"
import { type ReachHost, reach } from "../reach.ts"
import type { StartupParameters } from "../startup-packet.ts"
import { BranchPools, type SharedPool } from "./branch-pools.ts"
import type { Server } from "./server.ts"
import { type LoginKeys, openServer } from "./server-login.ts"

const LIFETIME_MS = 3_600_000
const PRUNE_EVERY_MS = 1_000

export interface PoolsHost extends ReachHost {
  readonly limits: WireLimits
  readonly admit: (session: LiveSession, connectionsMax: number) => void
  readonly leave: (session: LiveSession) => void
  readonly used: (session: LiveSession) => void
  readonly warn: (message: string, reason: unknown) => void
}

/** Whose connections are each other's. */
export interface PoolAddress {
  readonly branchId: string
  readonly user: string
  readonly database: string
  /** What a connection begins with: user and database are in it. */
  readonly parameters: StartupParameters
  readonly clientAddress: string
}

const keyOf = ({ parameters }: PoolAddress): string =>
  [...parameters]
    .map(([name, value]) => `${name}\0${value}`)
    .toSorted()
    .join("\0")

export class Pools implements Disposable {
  readonly #host: PoolsHost
  readonly #branches = new Map<string, BranchPools>()
  readonly #sessions = new WeakMap<Server, LiveSession>()
  readonly #timer: NodeJS.Timeout

  constructor(host: PoolsHost) {
    this.#host = host
    this.#timer = setInterval(() => this.#prune(), PRUNE_EVERY_MS)
    this.#timer.unref()
  }

  /** Counts a client in; throws a `WireRefusal` when its branch has as many as it may. */
  join(address: PoolAddress, keys: LoginKeys): SharedPool {
    const { limits } = this.#host
    const branch = this.#branches.get(address.branchId) ?? new BranchPools(limits)
    if (branch.clients >= limits.pooledClientsMax) {
      const message = "too many pooled clients for this database branch"
      throw new WireRefusal({ sqlstate: SQLSTATE.tooManyConnections, message })
    }
    this.#branches.set(address.branchId, branch)
    return branch.join(keyOf(address), keys, {
      open: (shared, closed) => this.#open(address, shared, closed),
      unreachable: reason => this.#unreachable(reason),
    })
  }

  leave({ branchId }: PoolAddress, shared: SharedPool): void {
    this.#branches.get(branchId)?.leave(shared)
  }

  used(server: Server): void {
    const session = this.#sessions.get(server)
    if (session) this.#host.used(session)
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }

  #unreachable(reason: unknown): WireRefusal {
    if (reason instanceof WireRefusal) return reason
    this.#host.warn("opening a pooled database connection failed", reason)
    const message = "the database cannot be reached now"
    return new WireRefusal({ sqlstate: SQLSTATE.cannotConnectNow, message })
  }

  async #open(address: PoolAddress, shared: SharedPool, closed: () => void): Promise<Server> {
    const host = this.#host
    const { branchId, user, database, clientAddress, parameters } = address
    let server: Server | undefined
    const session: LiveSession = {
      branchId,
      connectionId: randomUUID(),
      get state() {
        return server?.isLent ? "busy" : "idle"
      },
      end: () => server?.cut(),
    }
    const request = { branchId, user, database, clientAddress, connectionId: session.connectionId }
    try {
      const { target, upstream } = await reach(host, request, ({ connectionsMax }) =>
        host.admit(session, connectionsMax),
      )
      server = await openServer(upstream, target, {
        login: { user, parameters, keys: shared.keys },
        closed() {
          host.leave(session)
          closed()
        },
      })
      this.#sessions.set(server, session)
      shared.defaults = new Map(server.parameters)
      return server
    } catch (error) {
      host.leave(session)
      throw error
    }
  }

  #prune(): void {
    for (const [branchId, branch] of this.#branches) {
      branch.prune(LIFETIME_MS)
      if (branch.isEmpty) this.#branches.delete(branchId)
    }
  }
}
