/** Server connections of one role, database and set of startup parameters, lent to clients for a transaction each. */
import { SQLSTATE, WireRefusal } from "../error-response.ts"
import type { Server } from "./server.ts"

export interface PoolNeeds {
  /** Calls `closed` when the connection has gone. */
  readonly open: (closed: () => void) => Promise<Server>
  /** Another connection may be opened now. */
  readonly hasRoom: () => boolean
  /** A connection should go when it is given back, for a pool that has too few. */
  readonly isNeededElsewhere: () => boolean
  /** A connection has gone. */
  readonly changed: () => void
  readonly unreachable: (reason: unknown) => WireRefusal
  readonly waitTimeoutMs: number
}

export interface Pool {
  /** Waits its turn; throws a `WireRefusal` when none comes free in time, or none can be had. */
  lend(signal?: AbortSignal): Promise<Server>
  giveBack(server: Server): void
  readonly unreachable: (reason: unknown) => WireRefusal
  /** Looks whether clients that wait can have more connections now. */
  grow(): void
  /** Closes connections that nobody has had for so long, and those that are old. */
  prune(idleMs: number, lifetimeMs: number): void
  /** Closes an idle connection, if there is one. */
  dropIdle(): boolean
  readonly size: number
  readonly waiting: number
}

interface Waiter {
  readonly resolve: (server: Server) => void
  readonly reject: (error: unknown) => void
}

const noneFree = (seconds: number): WireRefusal =>
  new WireRefusal({
    sqlstate: SQLSTATE.tooManyConnections,
    message: `no server connection became free within ${seconds} seconds`,
    hint: "Transactions of the pool's other clients take all connections that it may have.",
  })

export const createPool = (needs: PoolNeeds): Pool => {
  const { waitTimeoutMs } = needs
  /** The one used last is at the end, and the first to be lent: it has what was prepared lately. */
  let idle: { readonly server: Server; readonly sinceMs: number }[] = []
  const lent = new Set<Server>()
  const waiters = new Set<Waiter>()
  let opening = 0

  const remove = (server: Server) => {
    lent.delete(server)
    idle = idle.filter(entry => entry.server !== server)
    needs.changed()
  }

  const hand = (server: Server) => {
    const [next] = waiters
    if (!next) return void idle.push({ server, sinceMs: performance.now() })
    waiters.delete(next)
    lent.add(server)
    next.resolve(server)
  }

  const fail = (error: unknown) => {
    // Those who have connections give them back.
    const isFull = error instanceof WireRefusal && error.sqlstate === SQLSTATE.tooManyConnections
    if (isFull && lent.size > 0) return
    const [first] = waiters
    if (!first) return
    waiters.delete(first)
    first.reject(error)
    grow()
  }

  const open = async () => {
    opening += 1
    let server: Server | undefined
    try {
      const opened = await needs.open(() => server && remove(server))
      server = opened
      opening -= 1
      if (opened.isClosed) throw new Error("the connection was closed at once")
      hand(opened)
    } catch (error) {
      opening -= 1
      fail(error)
    }
  }

  const grow = () => {
    // Making room may have let this pool open one already.
    while (waiters.size > opening && needs.hasRoom() && waiters.size > opening) void open()
  }

  return {
    async lend(signal) {
      const free = waiters.size === 0 ? idle.pop() : undefined
      if (free) {
        lent.add(free.server)
        return free.server
      }
      const { promise, resolve, reject } = Promise.withResolvers<Server>()
      const waiter = { resolve, reject }
      waiters.add(waiter)
      const giveUp = (error: unknown) => {
        if (waiters.delete(waiter)) reject(error)
      }
      const late = setTimeout(() => giveUp(noneFree(waitTimeoutMs / 1000)), waitTimeoutMs)
      const abort = () => giveUp(new Error("the client has gone"))
      signal?.addEventListener("abort", abort)
      grow()
      try {
        return await promise
      } finally {
        clearTimeout(late)
        signal?.removeEventListener("abort", abort)
      }
    },
    giveBack(server) {
      if (!lent.has(server)) return
      if (!server.isSettled || needs.isNeededElsewhere()) return server.close()
      lent.delete(server)
      hand(server)
    },
    unreachable: needs.unreachable,
    grow,
    prune(idleMs, lifetimeMs) {
      const nowMs = performance.now()
      const due = idle.filter(
        ({ server, sinceMs }) => nowMs - sinceMs >= idleMs || nowMs - server.openedAtMs >= lifetimeMs,
      )
      for (const { server } of due) server.close()
    },
    dropIdle() {
      const [oldest] = idle
      oldest?.server.close()
      return oldest !== undefined
    },
    get size() {
      return idle.length + lent.size + opening
    },
    get waiting() {
      return waiters.size
    },
  }
}
