/** Takes a server's stream apart as far as a pool has to look at it, and passes the rest on in pieces as large as can be. */
import type { Fate } from "./expectations.ts"

export interface ServerEvents {
  forward(bytes: Buffer): void
  parameter(payload: Buffer): void
  parsed(): Fate | "lost"
  closed(): Fate | "lost"
  error(payload: Buffer): void
  /** All prepared statements are gone. */
  deallocated(): void
  copyIn(): void
  /** What came before has been forwarded. */
  ready(status: number): void
  /** The stream makes no sense. */
  lost(): void
}

const HEAD_BYTES = 5
/** Larger ones are passed on unseen; none that matters is. */
const LOOKED_AT_MAX = 64 * 1024
const PARSED = 0x31
const CLOSED = 0x33
const NOTIFICATION = 0x41
const COMPLETED = 0x43
const ERROR = 0x45
const COPY_IN = 0x47
const PARAMETER = 0x53
const READY = 0x5a

const isLookedAt = new Uint8Array(256)
for (const type of [PARSED, CLOSED, NOTIFICATION, COMPLETED, ERROR, COPY_IN, PARAMETER, READY])
  isLookedAt[type] = 1

const DEALLOCATED: ReadonlySet<string> = new Set(["DISCARD ALL", "DEALLOCATE ALL"])

/** Whether the client gets the message. */
const look = (events: ServerEvents, type: number, bytes: Buffer, at: number, end: number): boolean => {
  const start = at + HEAD_BYTES
  switch (type) {
    case PARSED:
    case CLOSED: {
      const fate = type === PARSED ? events.parsed() : events.closed()
      if (fate === "lost") events.lost()
      if (fate === "as-parsed") bytes[at] = PARSED
      return fate === "pass" || fate === "as-parsed"
    }
    case NOTIFICATION:
      // Whoever has the connection now need not be who listens.
      return false
    case COMPLETED:
      if (bytes[start] === 0x44 && DEALLOCATED.has(bytes.toString("latin1", start, end - 1)))
        events.deallocated()
      return true
    case ERROR:
      events.error(bytes.subarray(start, end))
      return true
    case COPY_IN:
      events.copyIn()
      return true
    case PARAMETER:
      events.parameter(bytes.subarray(start, end))
      return true
    default:
      return true
  }
}

export const createServerFrames = (events: ServerEvents) => {
  let held: Buffer | undefined
  /** Bytes that are to come of a message that is passed on. */
  let passing = 0

  const push = (chunk: Buffer) => {
    const bytes = held ? Buffer.concat([held, chunk]) : chunk
    held = undefined
    let from = 0
    let at = Math.min(passing, bytes.length)
    passing -= at
    const flush = (end: number, next: number) => {
      if (end > from) events.forward(bytes.subarray(from, end))
      from = next
    }
    while (bytes.length - at >= HEAD_BYTES) {
      const type = bytes.readUInt8(at)
      const end = at + 1 + bytes.readInt32BE(at + 1)
      if (end < at + HEAD_BYTES) return events.lost()
      const isSeen = isLookedAt[type] === 1 && end - at <= LOOKED_AT_MAX
      if (end > bytes.length) {
        if (isSeen) break
        passing = end - bytes.length
        at = bytes.length
        break
      }
      if (isSeen && !look(events, type, bytes, at, end)) flush(at, end)
      at = end
      if (type === READY) {
        flush(at, at)
        events.ready(bytes.readUInt8(at - 1))
      }
    }
    flush(at, at)
    if (at < bytes.length) held = Buffer.from(bytes.subarray(at))
  }

  return { push }
}
