/** Tells which connections are at work, at most once a second each. */
import type { WireActivity } from "./messages.ts"

const TELL_EVERY_MS = 1_000

export interface ActiveConnection {
  readonly branchId: string
  readonly connectionId: string
  readonly state: "busy" | "idle" | "listening"
}

export interface Activity extends Disposable {
  opened(connection: ActiveConnection): void
  /** Bytes went by; cheap enough for every chunk. */
  used(connection: ActiveConnection): void
  closed(connection: ActiveConnection): void
}

export const createActivity = (send: (events: readonly WireActivity[]) => void): Activity => {
  /** Connections last told to be busy, and whether bytes went by since. */
  const active = new Map<ActiveConnection, boolean>()
  let pending: WireActivity[] = []

  const flush = () => {
    const events = pending
    pending = []
    send(events)
  }

  const tell = ({ branchId, connectionId }: ActiveConnection, kind: WireActivity["kind"]) => {
    if (pending.push({ branchId, connectionId, kind }) === 1) setImmediate(flush)
  }

  const look = () => {
    for (const [connection, used] of active) {
      const { state } = connection
      const busy = used || state === "busy"
      tell(connection, busy ? "busy" : state)
      if (busy) active.set(connection, false)
      else active.delete(connection)
    }
  }
  const timer = setInterval(look, TELL_EVERY_MS)
  timer.unref()

  return {
    opened(connection) {
      tell(connection, "opened")
    },
    used(connection) {
      const known = active.get(connection)
      if (known === undefined) tell(connection, "busy")
      if (known !== true) active.set(connection, true)
    },
    closed(connection) {
      active.delete(connection)
      tell(connection, "closed")
    },
    [Symbol.dispose]() {
      clearInterval(timer)
      if (pending.length > 0) flush()
    },
  }
}
