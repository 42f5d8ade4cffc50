/** The live sessions of a proxy, by branch and by the key that cancels them. */
import { type Activity, createActivity } from "./activity.ts"
import { SQLSTATE, WireRefusal } from "./error-response.ts"
import type { LiveSession } from "./live-session.ts"
import type { WireActivity } from "./messages.ts"

export interface Branches extends Disposable {
  admit(session: LiveSession, connectionsMax: number): void
  leave(session: LiveSession): void
  used(session: LiveSession): void
  claimKey(key: string, cancel: () => Promise<void>): Disposable
  /** Cancels what the session with exactly that key runs, if there is one. */
  cancel(key: string): Promise<void>
  end(branchId: string, refusal: WireRefusal): void
  endAll(refusal: WireRefusal): void
}

export const createBranches = (send: (events: readonly WireActivity[]) => void): Branches => {
  const activity: Activity = createActivity(send)
  const sessions = new Map<string, Set<LiveSession>>()
  const keys = new Map<string, () => Promise<void>>()

  const end = (branchId: string, refusal: WireRefusal) => {
    for (const session of sessions.get(branchId) ?? []) session.end(refusal)
  }

  return {
    admit(session, connectionsMax) {
      const others = sessions.get(session.branchId) ?? new Set()
      if (others.size >= connectionsMax) {
        const message = "too many connections for this database branch"
        throw new WireRefusal({ sqlstate: SQLSTATE.tooManyConnections, message })
      }
      sessions.set(session.branchId, others.add(session))
      activity.opened(session)
    },
    leave(session) {
      const others = sessions.get(session.branchId)
      if (!others?.delete(session)) return
      if (others.size === 0) sessions.delete(session.branchId)
      activity.closed(session)
    },
    used: activity.used,
    claimKey(key, cancel) {
      keys.set(key, cancel)
      return {
        [Symbol.dispose]() {
          if (keys.get(key) === cancel) keys.delete(key)
        },
      }
    },
    async cancel(key) {
      await keys.get(key)?.()
    },
    end,
    endAll(refusal) {
      for (const branchId of sessions.keys()) end(branchId, refusal)
    },
    [Symbol.dispose]: () => activity[Symbol.dispose](),
  }
}
