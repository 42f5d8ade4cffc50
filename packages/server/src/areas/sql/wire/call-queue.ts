/**
 * Which answer belongs to which statement. PostgreSQL answers in the order of asking, so a queue of what was asked
 * tells: a simple query ends with its ReadyForQuery, an Execute with its CommandComplete, and after an error everything
 * up to the next Sync is passed over unanswered.
 */
import type { ErrorFields } from "./error-response.ts"

export interface FinishedCall {
  readonly sql: string
  readonly startedAtMs: number
  readonly durationMs: number
  /** Rows that the command says it returned or changed; null for commands that do not say. */
  readonly rows: number | null
  /** The command's tag without its numbers, such as `INSERT`; empty when it failed. */
  readonly command: string
  readonly sqlstate: string | null
  readonly error: string | null
}

interface PendingCall {
  /** `other` is answered by a ReadyForQuery like a simple query, and reported to nobody. */
  readonly kind: "simple" | "execute" | "parse" | "sync" | "other"
  readonly sql: string
  readonly atMs: number
  tag: string
  error: ErrorFields | undefined
}

/** More than the sockets between hold of the smallest messages; a client beyond it is no longer followed. */
const ASKED_MAX = 50_000

const TAG = /^(.*?)(?: \d+)*(?: (\d+))$/

/** `INSERT 0 5` is five rows of INSERT. */
export const readTag = (tag: string): { command: string; rows: number | null } => {
  const last = tag.charCodeAt(tag.length - 1)
  const found = last >= 48 && last <= 57 ? TAG.exec(tag) : null
  return found ? { command: found[1] ?? "", rows: Number(found[2]) } : { command: tag, rows: null }
}

export interface CallQueue {
  ask(kind: PendingCall["kind"], sql: string): void
  /** The client ended its COPY data. */
  endCopy(): void
  parsed(): void
  completed(tag: string): void
  failed(error: ErrorFields): void
  ready(): void
  /** The server wants COPY data, and passes over the Syncs that come before it. */
  copyIn(): void
  /** The statement that an answer arriving now would belong to. */
  readonly current: string
  readonly empty: boolean
  readonly overflown: boolean
}

const createFifo = () => {
  let queue: PendingCall[] = []
  let head = 0
  return {
    get first(): PendingCall | undefined {
      return queue[head]
    },
    get length() {
      return queue.length - head
    },
    push: (asked: PendingCall) => void queue.push(asked),
    /** What was read is let go of now and then, so that reading costs the same whatever waits. */
    shift() {
      head += 1
      if (head < queue.length && (head <= 1_024 || head * 2 <= queue.length)) return
      queue = queue.slice(head)
      head = 0
    },
    dropSyncs() {
      queue = queue.slice(head).filter(({ kind }) => kind !== "sync")
      head = 0
    },
  }
}

export const createCallQueue = (report: (call: FinishedCall) => void): CallQueue => {
  const fifo = createFifo()
  /** When the server was done with what came before, on the monotonic clock. */
  let freeSinceMs = 0
  let skipping = false
  let copyEnded = false
  let overflown = false

  const finish = ({ sql, atMs, tag, error }: PendingCall) => {
    const nowMs = performance.now()
    const durationMs = nowMs - Math.max(atMs, freeSinceMs)
    freeSinceMs = nowMs
    report({
      sql,
      startedAtMs: Math.round(Date.now() - durationMs),
      durationMs: Math.round(durationMs * 1000) / 1000,
      ...(error ? { rows: null, command: "" } : readTag(tag)),
      sqlstate: error?.sqlstate ?? null,
      error: error?.message ?? null,
    })
  }

  const skipToSync = () => {
    while (fifo.first && fifo.first.kind !== "sync") fifo.shift()
    skipping = fifo.first === undefined
  }

  return {
    ask(kind, sql) {
      if (kind === "sync") skipping = false
      if (skipping) return
      if (fifo.length >= ASKED_MAX) overflown = true
      else fifo.push({ kind, sql, atMs: performance.now(), tag: "", error: undefined })
      if (kind === "execute") copyEnded = false
    },
    endCopy() {
      copyEnded = true
    },
    parsed() {
      if (fifo.first?.kind === "parse") fifo.shift()
    },
    completed(tag) {
      const { first } = fifo
      if (first?.kind === "simple") first.tag = tag
      if (first?.kind !== "execute") return
      first.tag = tag
      fifo.shift()
      finish(first)
    },
    failed(error) {
      const { first } = fifo
      if (!first) return
      first.error = error
      if (first.kind !== "execute" && first.kind !== "parse") return
      finish(first)
      skipToSync()
    },
    ready() {
      for (let { first } = fifo; first; first = fifo.first) {
        fifo.shift()
        if (first.kind === "simple") finish(first)
        if (first.kind !== "execute" && first.kind !== "parse") return
      }
    },
    copyIn() {
      if (fifo.first?.kind === "execute" && !copyEnded) fifo.dropSyncs()
    },
    get current() {
      return fifo.first?.sql ?? ""
    },
    get empty() {
      return fifo.length === 0
    },
    get overflown() {
      return overflown
    },
  }
}
