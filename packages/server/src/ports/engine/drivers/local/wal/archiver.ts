import { Worker } from "node:worker_threads"
import type { Lsn } from "../../../port.ts"
import type { FromReceiver, ToReceiver } from "./messages.ts"
import { formatLsn, parseLsn } from "./position.ts"

/** A running server whose log is archived, and the folder of its archive, which must exist. */
export interface WalSource {
  readonly volumeId: string
  /** The folder of its Unix socket. */
  readonly socketDir: string
  readonly port: number
  /** May replicate. */
  readonly user: string
  readonly password: string
  readonly walDir: string
}

/**
 * - `connecting`: not following yet, catching up, or on the way back after the connection broke.
 * - `streaming`: has everything that the server has on its own disk, or is behind by what is under way.
 * - `failed`: the log cannot be fetched or written; tried again until it can, and told in the log.
 */
export type FollowerState = "connecting" | "streaming" | "failed"

export interface WalFollower {
  readonly state: FollowerState
  /** Everything before it is on the archive's disk; null before anything was received. */
  readonly flushedLsn: Lsn | null
  /** Resolves true once everything up to `lsn` is on disk, false after `timeoutMs`, or when the follower is stopped. */
  flushedTo(lsn: Lsn, timeoutMs: number): Promise<boolean>
  onState(listener: (state: FollowerState) => void): void
  /** Resolves when the server is gone (nothing listens any more), and everything it sent is on disk. */
  readonly ended: Promise<void>
  /** Ends the connection. Resolves when everything received is on disk and no file is written any more. */
  stop(): Promise<void>
}

/** Archives the log of volumes, all in one thread of its own. */
export interface Archiver extends AsyncDisposable {
  /** Follows until stopped, through broken connections, restarts of the server and deaths of the thread. */
  follow(source: WalSource): WalFollower
}

const RECEIVER = new URL("./receiver.ts", import.meta.url)
/** A thread that dies at once each time must not take the processor. */
const RESTART_AFTER_MS = 100

interface Followed {
  readonly source: WalSource
  readonly flushed: BigInt64Array
  readonly requests: Map<number, { readonly position: bigint; readonly reached: (isOnDisk: boolean) => void }>
  readonly ended: PromiseWithResolvers<void>
  readonly stopped: PromiseWithResolvers<void>
  readonly listeners: ((state: FollowerState) => void)[]
  state: FollowerState
  stopping: boolean
}

const enter = (followed: Followed, state: FollowerState) => {
  if (followed.state === state) return
  followed.state = state
  for (const listener of followed.listeners) listener(state)
}

/** The thread, started when it is first needed and again when it dies. */
const createThread = (handlers: {
  /** Told anew to each thread. */
  readonly greet: (tell: (message: ToReceiver) => void) => void
  readonly received: (message: FromReceiver) => void
  readonly died: (reason: string) => void
}) => {
  let worker: Worker | undefined
  let restart: NodeJS.Timeout | undefined
  let closed = false

  const start = () => {
    // None of our environment: `pg` would take settings from it.
    const started = new Worker(RECEIVER, { name: "wal-receiver", env: {} })
    worker = started
    let reason = "it ended"
    started.on("message", handlers.received)
    started.on("error", error => {
      reason = error instanceof Error ? error.message : String(error)
    })
    started.on("exit", () => {
      worker = undefined
      if (closed) return
      restart = setTimeout(start, RESTART_AFTER_MS)
      handlers.died(reason)
    })
    handlers.greet(message => started.postMessage(message))
  }

  return {
    /** Lost when there is no thread at the moment: the next one is greeted. */
    tell: (message: ToReceiver) => worker?.postMessage(message),
    ensure() {
      if (!worker && !restart) start()
      restart = restart && worker ? undefined : restart
    },
    /** Whether waiting for the thread keeps the process alive. */
    hold: (held: boolean) => (held ? worker?.ref() : worker?.unref()),
    isRunning: () => worker !== undefined,
    async close() {
      closed = true
      clearTimeout(restart)
      await worker?.terminate()
    },
  }
}
