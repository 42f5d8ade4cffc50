import { PortError } from "../../../port-error.ts"

/** Lets a bounded number of tasks run at a time; the others wait in order. */
export interface StartQueue {
  run<Result>(task: () => Promise<Result>, signal?: AbortSignal): Promise<Result>
  readonly waiting: number
}

const WAITING_MAX = 1000

export const createStartQueue = (atOnce: number): StartQueue => {
  let running = 0
  const waiting: (() => void)[] = []

  const enter = (signal: AbortSignal | undefined): Promise<void> | undefined => {
    if (running < atOnce) {
      running += 1
      return undefined
    }
    if (waiting.length >= WAITING_MAX)
      throw new PortError("unavailable", "too many databases are waiting to start")
    return new Promise((resolve, reject) => {
      const leave = () => {
        waiting.splice(waiting.indexOf(admit), 1)
        reject(new PortError("unavailable", "the caller stopped waiting"))
      }
      const admit = () => {
        signal?.removeEventListener("abort", leave)
        resolve()
      }
      signal?.addEventListener("abort", leave, { once: true })
      waiting.push(admit)
    })
  }

  /** Hands the place on, or gives it back. */
  const exit = () => {
    const next = waiting.shift()
    if (next) next()
    else running -= 1
  }

  return {
    async run(task, signal) {
      await enter(signal)
      try {
        return await task()
      } finally {
        exit()
      }
    },
    get waiting() {
      return waiting.length
    },
  }
}
