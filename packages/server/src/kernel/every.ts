import type { Clock } from "./clock.ts"
import type { Logger } from "./log.ts"

/** Where a failure of periodic work is logged: once, until it changes or ends. */
export interface FailureLog {
  readonly log: Logger
  /** What failed, as a log message: "writing meters failed; will retry". */
  readonly failure: string
}

/** Stopping waits for the run under way. Only work that is never under way, being synchronous, can be stopped without. */
export type Periodic<Result> = AsyncDisposable & (Promise<void> extends Result ? unknown : Disposable)

/** Logs a failure when it begins or becomes another one, and that it ended. */
const createFailureReport = ({ log, failure }: FailureLog) => {
  let reported: string | undefined
  return {
    failed(error: unknown) {
      const text = String(error)
      if (text !== reported) log.warn({ err: error }, failure)
      reported = text
    },
    succeeded() {
      if (reported !== undefined) log.info({ failure }, "periodic work that had failed succeeded")
      reported = undefined
    },
  }
}

/**
 * The one form of periodic work of a process: a run never overlaps the one before, and a failure ends neither the
 * process nor the runs to come. What one process of an installation does for all is a `jobs.schedule` instead.
 * Work without a failure log must not fail; its error is one of the program, and reaches the clock.
 */
export const every = <Result extends void | Promise<void>>(
  clock: Clock,
  everyMs: number,
  run: () => Result,
  failures?: FailureLog,
): Periodic<Result> => {
  const report = failures && createFailureReport(failures)
  let underWay: Promise<void> | undefined
  let isStopped = false

  const runOnce = async () => {
    try {
      await run()
      report?.succeeded()
    } catch (error) {
      if (!report) throw error
      report.failed(error)
    } finally {
      underWay = undefined
    }
  }
  const ticker = clock.every(everyMs, () => {
    if (underWay || isStopped) return undefined
    underWay = runOnce()
    return underWay
  })
  const end = () => {
    isStopped = true
    ticker[Symbol.dispose]()
  }

  const periodic: AsyncDisposable & Disposable = {
    [Symbol.dispose]: end,
    async [Symbol.asyncDispose]() {
      end()
      await underWay?.catch(() => undefined)
    },
  }
  return periodic as Periodic<Result>
}

/** Stops all of them first, then waits for the runs under way together. */
export const stopAll = async (works: Iterable<AsyncDisposable>): Promise<void> => {
  await Promise.all([...works].map(work => work[Symbol.asyncDispose]()))
}

/** Runs once at a time to come, unless it is disposed of before. */
export const at = (clock: Clock, atMs: number, run: () => void | Promise<void>): Disposable => {
  const ticker = clock.every(Math.max(1, atMs - clock.now()), () => {
    ticker[Symbol.dispose]()
    return run()
  })
  return ticker
}
