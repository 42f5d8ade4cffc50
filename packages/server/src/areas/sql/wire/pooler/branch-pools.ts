/** The pools of one branch, which share the server connections that it may have. */
import type { WireRefusal } from "../error-response.ts"
import type { WireLimits } from "../messages.ts"
import { Pool } from "./pool.ts"
import type { Server } from "./server.ts"
import type { LoginKeys } from "./server-login.ts"

export interface SharedPool {
  readonly pool: Pool
  /** The keys that a client proved last. */
  keys: LoginKeys
  /** What a session's parameters are before anybody sets one; undefined until there was a connection. */
  defaults: ReadonlyMap<string, string> | undefined
  clients: number
}

/** How a pool gets its connections. */
export interface PoolSource {
  readonly open: (shared: SharedPool, closed: () => void) => Promise<Server>
  readonly unreachable: (reason: unknown) => WireRefusal
}

export class BranchPools {
  clients = 0
  readonly #limits: WireLimits
  readonly #pools = new Map<string, SharedPool>()

  constructor(limits: WireLimits) {
    this.#limits = limits
  }

  get isEmpty(): boolean {
    return this.#pools.size === 0
  }

  /** Counts a client in, in the pool of that key. */
  join(key: string, keys: LoginKeys, source: PoolSource): SharedPool {
    const shared = this.#pools.get(key) ?? this.#create(keys, source)
    this.#pools.set(key, shared)
    this.clients += 1
    shared.clients += 1
    shared.keys = keys
    return shared
  }

  leave(shared: SharedPool): void {
    this.clients -= 1
    shared.clients -= 1
  }

  /** Closes what nobody used lately, and forgets pools without clients and connections. */
  prune(lifetimeMs: number): void {
    for (const [key, shared] of this.#pools) {
      shared.pool.prune(this.#limits.poolIdleTimeoutMs, lifetimeMs)
      if (shared.clients === 0 && shared.pool.size === 0) this.#pools.delete(key)
    }
  }

  #create(keys: LoginKeys, { open, unreachable }: PoolSource): SharedPool {
    const shared: SharedPool = {
      keys,
      defaults: undefined,
      clients: 0,
      pool: new Pool({
        open: closed => open(shared, closed),
        hasRoom: () => this.#hasRoom(shared.pool),
        isNeededElsewhere: () => this.#isNeededElsewhere(shared.pool),
        changed: () => {
          for (const { pool } of [...this.#pools.values()]) pool.grow()
        },
        unreachable,
        waitTimeoutMs: this.#limits.poolWaitTimeoutMs,
      }),
    }
    return shared
  }

  get #isFull(): boolean {
    let size = 0
    for (const { pool } of this.#pools.values()) size += pool.size
    return size >= this.#limits.pooledServersMax
  }

  #others(than: Pool): readonly Pool[] {
    return [...this.#pools.values()].map(({ pool }) => pool).filter(pool => pool !== than)
  }

  #hasRoom(pool: Pool): boolean {
    if (pool.size >= this.#limits.poolSizeMax) return false
    return !this.#isFull || this.#others(pool).some(other => other.dropIdle())
  }

  #isNeededElsewhere(pool: Pool): boolean {
    if (!this.#isFull) return false
    const waiting = this.#others(pool).filter(other => other.waiting > 0)
    if (pool.waiting === 0) return waiting.length > 0
    const share = this.#limits.pooledServersMax / (waiting.length + 1)
    return waiting.some(({ size }) => size < Math.floor(share))
  }
}
