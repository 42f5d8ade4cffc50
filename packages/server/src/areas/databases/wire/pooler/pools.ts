/** The pools of a proxy, and how many connections those of a branch may have. */
import { randomUUID } from "node:crypto"
import { SQLSTATE, WireRefusal } from "../error-response.ts"
import type { LiveSession } from "../live-session.ts"
import type { WireLimits } from "../messages.ts"
import { type ReachHost, reach } from "../reach.ts"
import type { StartupParameters } from "../startup-packet.ts"
import { createPool, type Pool } from "./pool.ts"
import { type LoginKeys, openServer, type Server } from "./server.ts"

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

export interface SharedPool {
  readonly pool: Pool
  /** The keys that a client proved last. */
  keys: LoginKeys
  /** What a session's parameters are before anybody sets one; undefined until there was a connection. */
  defaults: ReadonlyMap<string, string> | undefined
  clients: number
}

export interface Pools extends Disposable {
  /** Counts a client in; throws a `WireRefusal` when its branch has as many as it may. */
  join(address: PoolAddress, keys: LoginKeys): SharedPool
  leave(address: PoolAddress, shared: SharedPool): void
  used(server: Server): void
}

interface BranchPools {
  clients: number
  readonly pools: Map<string, SharedPool>
}

const keyOf = ({ parameters }: PoolAddress): string =>
  [...parameters]
    .map(([name, value]) => `${name}\0${value}`)
    .toSorted()
    .join("\0")

export const createPools = (host: PoolsHost): Pools => {
  const { limits } = host
  const branches = new Map<string, BranchPools>()
  const sessions = new WeakMap<Server, LiveSession>()

  const poolsOf = (branchId: string): readonly SharedPool[] => [
    ...(branches.get(branchId)?.pools.values() ?? []),
  ]
  const sizeOf = (branchId: string): number => poolsOf(branchId).reduce((sum, { pool }) => sum + pool.size, 0)

  const unreachable = (reason: unknown): WireRefusal => {
    if (reason instanceof WireRefusal) return reason
    host.warn("a pooled connection to a database cannot be made", reason)
    const message = "the database cannot be reached now"
    return new WireRefusal({ sqlstate: SQLSTATE.cannotConnectNow, message })
  }

  const open = async (address: PoolAddress, shared: SharedPool, closed: () => void): Promise<Server> => {
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
      sessions.set(server, session)
      shared.defaults = new Map(server.parameters)
      return server
    } catch (error) {
      host.leave(session)
      throw error
    }
  }

  const create = (address: PoolAddress, keys: LoginKeys): SharedPool => {
    const { branchId } = address
    const others = () => poolsOf(branchId).filter(({ pool }) => pool !== shared.pool)
    const isFull = () => sizeOf(branchId) >= limits.pooledServersMax
    const shared: SharedPool = {
      keys,
      defaults: undefined,
      clients: 0,
      pool: createPool({
        open: closed => open(address, shared, closed),
        hasRoom() {
          if (shared.pool.size >= limits.poolSizeMax) return false
          return !isFull() || others().some(({ pool }) => pool.dropIdle())
        },
        isNeededElsewhere() {
          if (!isFull()) return false
          const waiting = others().filter(({ pool }) => pool.waiting > 0)
          if (shared.pool.waiting === 0) return waiting.length > 0
          const share = limits.pooledServersMax / (waiting.length + 1)
          return waiting.some(({ pool }) => pool.size < Math.floor(share))
        },
        changed() {
          for (const { pool } of poolsOf(branchId)) pool.grow()
        },
        unreachable,
        waitTimeoutMs: limits.poolWaitTimeoutMs,
      }),
    }
    return shared
  }

  const prune = () => {
    for (const [branchId, branch] of branches) {
      for (const [key, shared] of branch.pools) {
        shared.pool.prune(limits.poolIdleTimeoutMs, LIFETIME_MS)
        if (shared.clients === 0 && shared.pool.size === 0) branch.pools.delete(key)
      }
      if (branch.pools.size === 0) branches.delete(branchId)
    }
  }
  const timer = setInterval(prune, PRUNE_EVERY_MS)
  timer.unref()

  return {
    join(address, keys) {
      const branch = branches.get(address.branchId) ?? { clients: 0, pools: new Map() }
      if (branch.clients >= limits.pooledClientsMax) {
        const message = "too many pooled clients for this database branch"
        throw new WireRefusal({ sqlstate: SQLSTATE.tooManyConnections, message })
      }
      branches.set(address.branchId, branch)
      const key = keyOf(address)
      const shared = branch.pools.get(key) ?? create(address, keys)
      branch.pools.set(key, shared)
      branch.clients += 1
      shared.clients += 1
      shared.keys = keys
      return shared
    },
    leave({ branchId }, shared) {
      shared.clients -= 1
      const branch = branches.get(branchId)
      if (branch) branch.clients -= 1
    },
    used(server) {
      const session = sessions.get(server)
      if (session) host.used(session)
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}
