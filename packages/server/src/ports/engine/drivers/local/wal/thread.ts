import { Worker } from "node:worker_threads"
import type { FromReceiver, ToReceiver } from "./messages.ts"

const RECEIVER = new URL("./receiver.ts", import.meta.url)
/** A thread that dies at once each time must not take the processor. */
const RESTART_AFTER_MS = 100

export interface Thread extends AsyncDisposable {
  /** Starts it unless it runs, or is about to. */
  ensure(): void
  /** Lost when there is none at the moment: the next one is greeted. */
  tell(message: ToReceiver): void
  isRunning(): boolean
}

/** The thread, started when it is first needed, and again when it dies while `isNeeded`. */
export const createThread = (handlers: {
  /** What each new one has to know. */
  readonly greeting: () => readonly ToReceiver[]
  readonly received: (message: FromReceiver) => void
  readonly died: (reason: string) => void
  readonly isNeeded: () => boolean
}): Thread => {
  let worker: Worker | undefined
  let restart: NodeJS.Timeout | undefined
  let closed = false

  const start = () => {
    restart = undefined
    // None of our environment: `pg` would take settings from it.
    const started = new Worker(RECEIVER, { name: "wal-receiver", env: {} })
    worker = started
    let reason = "it was ended"
    started.on("message", handlers.received)
    started.on("error", error => {
      reason = error instanceof Error ? error.message : String(error)
    })
    started.on("exit", () => {
      worker = undefined
      if (closed) return
      if (handlers.isNeeded()) restart = setTimeout(start, RESTART_AFTER_MS)
      handlers.died(reason)
    })
    for (const message of handlers.greeting()) started.postMessage(message)
  }

  return {
    ensure() {
      if (!worker && !restart && !closed) start()
    },
    tell: message => worker?.postMessage(message),
    isRunning: () => worker !== undefined,
    async [Symbol.asyncDispose]() {
      closed = true
      clearTimeout(restart)
      await worker?.terminate()
    },
  }
}
