import { access, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { PortError } from "../../../../port-error.ts"
import { readArchive } from "./archive.ts"
import type { FollowerState, WalSource } from "./messages.ts"
import { formatLsn, historyName, parseHistory, segmentAt, segmentStart } from "./position.ts"
import { receiveTimeline } from "./receive.ts"
import {
  connectReplication,
  type ReplicationConnection,
  type Slot,
  type SystemIdentity,
} from "./replication.ts"
import { createSegmentWriter, syncDirectory } from "./segment-writer.ts"
import { type LogPlace, planStart } from "./start-plan.ts"

export interface Reports {
  state(state: FollowerState): void
  /** Everything before the position is on disk. */
  flushed(timeline: number, position: bigint): void
  /** Where the server's log ends, as far as is known. */
  serverEnd(position: bigint): void
  /** The server is gone, and what it sent is on disk. */
  ended(): void
  log(line: string): void
}

const RETRY_FIRST_MS = 20
const RETRY_MAX_MS = 1_000

const UNDEFINED_FILE = "58P01"
const CANNOT_CONNECT_NOW = "57P03"
/** Starting or stopping, ended by somebody, or still holding the slot for a connection of ours that is gone. */
const PASSING_STATES: ReadonlySet<string> = new Set(["57P01", "57P02", CANNOT_CONNECT_NOW, "55006"])

interface SystemError {
  readonly code?: string
  readonly syscall?: string
}

const isGone = ({ code, syscall }: SystemError): boolean =>
  syscall === "connect" && (code === "ENOENT" || code === "ECONNREFUSED")

/** Whether only the connection broke. `pg`'s own errors have no code; a disk's, and most of a server's, are to be seen. */
const isPassing = (error: SystemError): boolean => {
  if (error instanceof PortError) return false
  const { code } = error
  return (
    code === undefined || isGone(error) || ["ECONNRESET", "EPIPE"].includes(code) || PASSING_STATES.has(code)
  )
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** What the slot keeps from here on. One that the server no longer keeps anything for is made anew. */
const ensureSlot = async (
  connection: ReplicationConnection,
  isUseless: boolean,
): Promise<NonNullable<Slot["restart"]>> => {
  const found = await connection.findSlot()
  if (found?.restart && !isUseless) return found.restart
  if (found) await connection.dropSlot()
  await connection.createSlot()
  const made = await connection.findSlot()
  if (!made?.restart) throw new PortError("unavailable", "the server keeps no log for a new slot")
  return made.restart
}

/** A history file has its name only once it is whole. */
const saveHistory = async (
  connection: ReplicationConnection,
  walDir: string,
  timeline: number,
): Promise<void> => {
  const path = join(walDir, historyName(timeline))
  const exists = await access(path).then(
    () => true,
    () => false,
  )
  if (timeline === 1 || exists) return
  await writeFile(`${path}.new`, await connection.timelineHistory(timeline), { mode: 0o600, flush: true })
  await rename(`${path}.new`, path)
  await syncDirectory(walDir)
}

interface Session {
  readonly source: WalSource
  readonly signal: AbortSignal
  /** The server has dropped the log after the archive's end, whatever its slot says. */
  readonly isLost: boolean
  readonly reports: Reports
}

const startOf = async (
  connection: ReplicationConnection,
  { source, isLost, reports }: Session,
): Promise<{ start: LogPlace; server: SystemIdentity }> => {
  const server = await connection.identify()
  const { segmentBytes, timeline } = server
  const slot = await ensureSlot(connection, isLost)
  const history = timeline > 1 ? parseHistory(await connection.timelineHistory(timeline)) : []
  const start = planStart({ archive: await readArchive(source.walDir), server, history, slot })
  if (!isLost) return { start, server }
  const kept = segmentStart(segmentAt(slot.position, segmentBytes), segmentBytes)
  reports.log(`the archive has a gap from ${formatLsn(start.position)} to ${formatLsn(kept)}`)
  return { start: { timeline: slot.timeline, position: kept }, server }
}

/** Follows a server over one connection until it shuts down. Rejects when the connection breaks or a write fails. */
const runSession = async (session: Session): Promise<void> => {
  const { source, signal, reports } = session
  await using connection = await connectReplication(source)
  const breakOff = () => void connection[Symbol.asyncDispose]()
  signal.throwIfAborted()
  signal.addEventListener("abort", breakOff, { once: true })
  try {
    const { start, server } = await startOf(connection, session)
    const { segmentBytes } = server
    let from = start
    for (;;) {
      const place = from
      await saveHistory(connection, source.walDir, place.timeline)
      await using writer = createSegmentWriter({
        ...{ walDir: source.walDir, segmentBytes, timeline: place.timeline, start: place.position },
      })
      reports.flushed(place.timeline, place.position)
      reports.serverEnd(server.flushed)
      const end = await receiveTimeline({
        ...{ connection, writer, from: place, serverEnd: server.flushed },
        onFlushed: position => reports.flushed(place.timeline, position),
        onServerEnd: reports.serverEnd,
        onCaughtUp: () => {
          if (place.timeline >= server.timeline) reports.state("streaming")
        },
      })
      if (end.kind === "shutdown") return
      // The next timeline's first segment repeats the end of this one.
      const position = segmentStart(segmentAt(end.next.position, segmentBytes), segmentBytes)
      from = { timeline: end.next.timeline, position }
    }
  } finally {
    signal.removeEventListener("abort", breakOff)
  }
}

/** Follows a source until it is stopped, over as many connections as that takes. */
export const followSource = (source: WalSource, reports: Reports): { stop(): Promise<void> } => {
  const stopping = new AbortController()
  const { signal } = stopping
  let state: FollowerState = "connecting"
  let retryMs = RETRY_FIRST_MS
  let isLost = false
  let lastReason = ""

  const enter = (next: FollowerState) => {
    if (next === "streaming") {
      retryMs = RETRY_FIRST_MS
      if (lastReason) reports.log("the archive follows again")
      lastReason = ""
    }
    if (next === state) return
    state = next
    reports.state(next)
  }

  /** One line for as long as the reason stays the same. */
  const logOnce = (reason: string) => {
    if (reason !== lastReason) reports.log(`the archive does not follow: ${reason}`)
    lastReason = reason
  }

  const attempt = async () => {
    try {
      const session = { source, signal, isLost, reports: { ...reports, state: enter } }
      isLost = false
      await runSession(session)
      enter("connecting")
      reports.ended()
    } catch (error) {
      if (signal.aborted) return
      const cause = error as SystemError
      if (cause.code === UNDEFINED_FILE) isLost = true
      if (isGone(cause)) reports.ended()
      else if (cause.code !== CANNOT_CONNECT_NOW) logOnce(reasonOf(error))
      // A state that is left and entered by turns would look like one that changes for the better.
      if (!isPassing(cause)) enter("failed")
      else if (state !== "failed") enter("connecting")
    }
  }

  const run = async () => {
    while (!signal.aborted) {
      await attempt()
      await delay(retryMs, undefined, { signal }).catch(() => undefined)
      retryMs = Math.min(retryMs * 2, RETRY_MAX_MS)
    }
  }
  const finished = run()
  return {
    async stop() {
      stopping.abort()
      await finished
    },
  }
}
