/** Requests that wait for an instance: the first first, none of them for too long. */
import type { Lease } from "./instance.ts"
import { UnservedError } from "./spec.ts"

/** Of one revision in this process. */
const WAITING_MAX = 10_000

interface Waiting {
  readonly resolve: (lease: Lease) => void
  readonly reject: (error: unknown) => void
  readonly end: () => void
}

export const createWaitingQueue = () => {
  const waiting = new Set<Waiting>()

  const next = (): Waiting | undefined => {
    const [first] = waiting
    first?.end()
    return first
  }

  return {
    get length() {
      return waiting.size
    },
    next,
    wait: (waitMs: number, signal: AbortSignal): Promise<Lease> =>
      new Promise((resolve, reject) => {
        if (waiting.size >= WAITING_MAX)
          return reject(new UnservedError("crowded", `${WAITING_MAX} requests wait already`))
        if (signal.aborted) return reject(new UnservedError("left", "its caller left"))
        const refuse = (error: UnservedError) => {
          one.end()
          reject(error)
        }
        const late = () =>
          refuse(new UnservedError("late", `no instance was free within ${Math.round(waitMs / 1000)} s`))
        const leave = () => refuse(new UnservedError("left", "its caller left"))
        const timer = setTimeout(late, waitMs)
        signal.addEventListener("abort", leave)
        const one: Waiting = {
          ...{ resolve, reject },
          end() {
            waiting.delete(one)
            clearTimeout(timer)
            signal.removeEventListener("abort", leave)
          },
        }
        waiting.add(one)
      }),
    refuse(error: unknown) {
      for (let one = next(); one; one = next()) one.reject(error)
    },
  }
}
