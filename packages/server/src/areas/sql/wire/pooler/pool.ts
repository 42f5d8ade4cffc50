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

export class Pool {
  readonly #needs: PoolNeeds
  /** The one used last is at the end, and the first to be lent: it has what was prepared lately. */
  #idle: { readonly server: Server; readonly sinceMs: number }[] = []
  readonly #lent = new Set<Server>()
  readonly #waiters = new Set<Waiter>()
  #opening = 0

  constructor(needs: PoolNeeds) {
    this.#needs = needs
  }

  get size(): number {
    return this.#idle.length + this.#lent.size + this.#opening
  }

  get waiting(): number {
    return this.#waiters.size
  }

  /** Waits its turn; throws a `WireRefusal` when none comes free in time, or none can be had. */
  async lend(signal?: AbortSignal): Promise<Server> {
    const free = this.#waiters.size === 0 ? this.#idle.pop() : undefined
    if (free) {
      this.#lent.add(free.server)
      return free.server
    }
    const { waitTimeoutMs } = this.#needs
    const { promise, resolve, reject } = Promise.withResolvers<Server>()
    const waiter = { resolve, reject }
    this.#waiters.add(waiter)
    const giveUp = (error: unknown) => {
      if (this.#waiters.delete(waiter)) reject(error)
    }
    const late = setTimeout(() => giveUp(noneFree(waitTimeoutMs / 1000)), waitTimeoutMs)
    const abort = () => giveUp(new Error("the client has gone"))
    signal?.addEventListener("abort", abort)
    this.grow()
    try {
      return await promise
    } finally {
      clearTimeout(late)
      signal?.removeEventListener("abort", abort)
    }
  }

  giveBack(server: Server) {
    if (!this.#lent.has(server)) return
    if (!server.isSettled || this.#needs.isNeededElsewhere()) return server.close()
    this.#lent.delete(server)
    this.#hand(server)
  }

  unreachable(reason: unknown): WireRefusal {
    return this.#needs.unreachable(reason)
  }

  /** Looks whether clients that wait can have more connections now. */
  grow(): void {
    const waiters = this.#waiters
    // Making room may have let this pool open one already.
    while (waiters.size > this.#opening && this.#needs.hasRoom() && waiters.size > this.#opening)
      void this.#open()
  }

  /** Closes connections that nobody has had for so long, and those that are old. */
  prune(idleMs: number, lifetimeMs: number): void {
    const nowMs = performance.now()
    const due = this.#idle.filter(
      ({ server, sinceMs }) => nowMs - sinceMs >= idleMs || nowMs - server.openedAtMs >= lifetimeMs,
    )
    for (const { server } of due) server.close()
  }

  /** Closes an idle connection, if there is one. */
  dropIdle(): boolean {
    const [oldest] = this.#idle
    oldest?.server.close()
    return oldest !== undefined
  }

  #remove(server: Server): void {
    this.#lent.delete(server)
    this.#idle = this.#idle.filter(entry => entry.server !== server)
    this.#needs.changed()
  }

  #hand(server: Server) {
    const [next] = this.#waiters
    if (!next) return void this.#idle.push({ server, sinceMs: performance.now() })
    this.#waiters.delete(next)
    this.#lent.add(server)
    next.resolve(server)
  }

  async #open(): Promise<void> {
    this.#opening += 1
    let server: Server | undefined
    try {
      const opened = await this.#needs.open(() => server && this.#remove(server))
      server = opened
      this.#opening -= 1
      if (opened.isClosed) throw new Error("the connection was closed at once")
      this.#hand(opened)
    } catch (error) {
      this.#opening -= 1
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    // Those who have connections give them back.
    const isFull = error instanceof WireRefusal && error.sqlstate === SQLSTATE.tooManyConnections
    if (isFull && this.#lent.size > 0) return
    const [first] = this.#waiters
    if (!first) return
    this.#waiters.delete(first)
    first.reject(error)
    this.grow()
  }
}
