import type { Clock } from "../../kernel/clock.ts"
import { every } from "../../kernel/every.ts"
import type { Logger } from "../../kernel/log.ts"
import type { EnginePort, VolumeState } from "../../ports/engine/port.ts"
import type { ReadyBranch } from "./directory.ts"
import type { Lease } from "./offers.ts"

/** What was asked of a branch's server, for bills and advice. */
export interface ComputeEvents {
  awake(branch: ReadyBranch, at: Date, wakeMs: number): void
  asleep(branch: ReadyBranch, since: Date, at: Date): void
  /** Connections to it are of no use any more: pools let go of them. */
  ended(branch: ReadyBranch): void | Promise<void>
}

/** Which servers are awake, who uses them, and when they may sleep. */
export interface Compute extends AsyncDisposable {
  acquire(branch: ReadyBranch, signal?: AbortSignal): Promise<Lease>
  /** Sessions of the wire proxy that keep a server awake, or merely exist. */
  wire(branchId: string, connectionId: string, state: "open" | "busy" | "closed"): void
  stateOf(volumeId: string): VolumeState
  /** Whether somebody used it within these milliseconds, or does now. */
  isUsed(volumeId: string, withinMs: number): boolean
  suspend(branch: ReadyBranch): Promise<void>
  /** Forgets a server whose volume was swapped or destroyed. */
  forget(volumeId: string): void
}

interface Awake {
  branch: ReadyBranch
  readonly since: Date
  holds: number
  lastUsedMs: number
  /** Sessions of the wire that are in a transaction, run a statement or listen. */
  readonly busy: Set<string>
}

const LOOK_EVERY_MS = 1_000
/** How often a server that looks idle is asked whether it is, at the most. */
const ASKED_AGAIN_MS = 15_000

export interface ComputeNeeds {
  readonly engine: EnginePort
  readonly clock: Clock
  readonly log: Logger
  readonly events: ComputeEvents
  readonly branchOf: (volumeId: string) => Promise<ReadyBranch | undefined>
  /** Whether a session of the branch's server runs something or is in a transaction. */
  readonly isActive: (branch: ReadyBranch) => Promise<boolean>
}

export const createCompute = (needs: ComputeNeeds): Compute => {
  const { engine, clock, log, events, isActive } = needs
  const awake = new Map<string, Awake>()
  const byBranch = new Map<string, Awake>()

  const remember = (branch: ReadyBranch, wakeMs: number): Awake => {
    const known = awake.get(branch.volume.id)
    if (known) {
      known.branch = branch
      return known
    }
    const since = new Date(clock.now())
    const fresh: Awake = { branch, since, holds: 0, lastUsedMs: clock.now(), busy: new Set() }
    awake.set(branch.volume.id, fresh)
    byBranch.set(branch.branchId, fresh)
    events.awake(branch, since, wakeMs)
    return fresh
  }

  const drop = (entry: Awake) => {
    const { branch, since } = entry
    if (awake.get(branch.volume.id) !== entry) return
    awake.delete(branch.volume.id)
    if (byBranch.get(branch.branchId) === entry) byBranch.delete(branch.branchId)
    events.asleep(branch, since, new Date(clock.now()))
  }

  const suspend = async (entry: Awake) => {
    await events.ended(entry.branch)
    await engine.suspend(entry.branch.volume)
    drop(entry)
  }

  const isIdle = ({ branch, holds, busy, lastUsedMs }: Awake): boolean =>
    holds === 0 &&
    busy.size === 0 &&
    branch.suspendTimeoutSeconds > 0 &&
    clock.now() - lastUsedMs >= branch.suspendTimeoutSeconds * 1000

  const consider = async (entry: Awake) => {
    // What runs inside without anybody connected by us (a long statement whose caller went away) is activity too.
    if (await isActive(entry.branch).catch(() => false)) {
      entry.lastUsedMs = clock.now() - entry.branch.suspendTimeoutSeconds * 1000 + ASKED_AGAIN_MS
      return
    }
    if (isIdle(entry)) await suspend(entry)
  }

  /** Servers that were started for work on them (a copy, a new password) and not for anybody's query. */
  const adopt = async () => {
    for (const { id, state } of engine.running()) {
      if (state !== "active" || awake.has(id)) continue
      const branch = await needs.branchOf(id)
      if (branch && !awake.has(id)) remember(branch, 0)
    }
  }

  const look = async () => {
    await adopt().catch(error =>
      log.warn({ err: error }, "listing running database servers failed; will retry"),
    )
    await Promise.all(
      [...awake.values()].filter(isIdle).map(entry =>
        consider(entry).catch(error => {
          log.warn(
            { err: error, volume: entry.branch.volume.id },
            "suspending an idle database failed; will retry",
          )
        }),
      ),
    )
  }
  const looking = every(clock, LOOK_EVERY_MS, look)

  const watching = engine.subscribe({
    stopped(volumeId) {
      const entry = awake.get(volumeId)
      if (!entry) return
      log.warn({ volume: volumeId }, "database server exited unexpectedly")
      drop(entry)
      void events.ended(entry.branch)
    },
  })

  return {
    async acquire(branch, signal) {
      // Held before it is asked for, or it could go to sleep in between.
      const before = awake.get(branch.volume.id)
      if (before) before.holds += 1
      try {
        const endpoint = await engine.wake(branch.volume, signal)
        const entry = remember(branch, endpoint.wakeMs)
        entry.holds += 1
        entry.lastUsedMs = clock.now()
        return {
          endpoint,
          [Symbol.dispose]() {
            entry.holds -= 1
            entry.lastUsedMs = clock.now()
          },
        }
      } finally {
        if (before) before.holds -= 1
      }
    },

    wire(branchId, connectionId, state) {
      const entry = byBranch.get(branchId)
      if (!entry) return
      entry.lastUsedMs = clock.now()
      if (state === "busy") entry.busy.add(connectionId)
      else entry.busy.delete(connectionId)
    },

    stateOf(volumeId) {
      return engine.running().find(({ id }) => id === volumeId)?.state ?? "idle"
    },

    isUsed(volumeId, withinMs) {
      const entry = awake.get(volumeId)
      if (!entry) return false
      return entry.holds > 0 || entry.busy.size > 0 || clock.now() - entry.lastUsedMs <= withinMs
    },

    async suspend(branch) {
      const entry = awake.get(branch.volume.id)
      if (entry) await suspend(entry)
      else await engine.suspend(branch.volume)
    },

    forget(volumeId) {
      const entry = awake.get(volumeId)
      if (entry) drop(entry)
    },

    async [Symbol.asyncDispose]() {
      await looking[Symbol.asyncDispose]()
      watching[Symbol.dispose]()
      await Promise.all([...awake.values()].map(entry => events.ended(entry.branch)))
      for (const entry of awake.values()) drop(entry)
    },
  }
}

/** Wakes a branch and lets go again: from now on it counts as awake, and sleeps when its time has come. */
export const hold = async (compute: Compute, branch: ReadyBranch): Promise<void> => {
  using _lease = await compute.acquire(branch)
}
