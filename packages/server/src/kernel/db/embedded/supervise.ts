import { setTimeout as delay } from "node:timers/promises"
import type { Logger } from "../../log.ts"
import type { EmbeddedPostgres } from "./start.ts"

const RESTART_MS = [0, 500, 1_000, 2_000, 5_000] as const

/**
 * Keeps the control database running: should its process end by itself, it is started again on the same socket, where
 * the pool finds it. Until then `/health/ready` answers 503. Gives up after five failed starts in a row.
 */
export const superviseEmbeddedPostgres = async (
  start: () => Promise<EmbeddedPostgres>,
  log: Logger,
): Promise<{ connectionString: string } & AsyncDisposable> => {
  let current = await start()
  const closing = new AbortController()
  let restarting: Promise<void> = Promise.resolve()

  const restart = async (ended: EmbeddedPostgres) => {
    for (const delayMs of RESTART_MS) {
      await delay(delayMs, undefined, { signal: closing.signal }).catch(() => undefined)
      if (closing.signal.aborted) return
      try {
        await ended.stop()
        current = await start()
        watch(current)
        return
      } catch (error) {
        log.error({ err: error }, "restarting the embedded PostgreSQL failed; will retry")
      }
    }
    log.fatal(
      "embedded PostgreSQL is down and is not restarted any more; fix the cause, then restart the server",
    )
  }

  const watch = (postgres: EmbeddedPostgres) =>
    postgres.onExit(({ code, signal }) => {
      log.error({ code, signal }, "embedded PostgreSQL exited unexpectedly; restarting it")
      restarting = restart(postgres)
    })

  watch(current)
  return {
    connectionString: current.connectionString,
    async [Symbol.asyncDispose]() {
      closing.abort()
      await restarting
      await current.stop()
    },
  }
}
