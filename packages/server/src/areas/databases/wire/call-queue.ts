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

interface Asked {
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
  ask(kind: Asked["kind"], sql: string): void
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

export const createCallQueue = (report: (call: FinishedCall) => void): CallQueue => {
  let queue: Asked[] = []
  let head = 0
  /** When the server was done with what came before, on the monotonic clock. */
  let freeSinceMs = 0
  let skipping = false
  let copyEnded = false
  let overflown = false

  const shift = () => {
    head += 1
    if (head === queue.length) {
      if (head > 64) queue = []
      else queue.length = 0
      head = 0
    } else if (head > 1_024 && head * 2 > queue.length) {
      queue = queue.slice(head)
      head = 0
    }
  }

  const finish = ({ sql, atMs, tag, error }: Asked) => {
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
    while (queue[head] && queue[head]?.kind !== "sync") shift()
    skipping = queue[head] === undefined
  }

  return {
    ask(kind, sql) {
      if (kind === "sync") skipping = false
      if (skipping) return
      if (queue.length - head >= ASKED_MAX) overflown = true
      else queue.push({ kind, sql, atMs: performance.now(), tag: "", error: undefined })
      if (kind === "execute") copyEnded = false
    },
    endCopy() {
      copyEnded = true
    },
    parsed() {
      if (queue[head]?.kind === "parse") shift()
    },
    completed(tag) {
      const first = queue[head]
      if (first?.kind === "simple") first.tag = tag
      if (first?.kind !== "execute") return
      first.tag = tag
      shift()
      finish(first)
    },
    failed(error) {
      const first = queue[head]
      if (!first) return
      first.error = error
      if (first.kind !== "execute" && first.kind !== "parse") return
      finish(first)
      skipToSync()
    },
    ready() {
      for (let first = queue[head]; first; first = queue[head]) {
        shift()
        if (first.kind === "simple") finish(first)
        if (first.kind !== "execute" && first.kind !== "parse") return
      }
    },
    copyIn() {
      if (queue[head]?.kind !== "execute" || copyEnded) return
      queue = queue.slice(head).filter(({ kind }) => kind !== "sync")
      head = 0
    },
    get current() {
      return queue[head]?.sql ?? ""
    },
    get empty() {
      return head === queue.length
    },
    get overflown() {
      return overflown
    },
  }
}
