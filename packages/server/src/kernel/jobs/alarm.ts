import type { Clock } from "../clock.ts"
import { at } from "../every.ts"

/** Rings for a name at the earliest time that was set for it, once. */
export const createAlarm = (clock: Clock, ring: (name: string) => void) => {
  const dueMs = new Map<string, number>()
  let timer: Disposable | undefined
  let timerMs = Number.POSITIVE_INFINITY

  const disarm = () => {
    timer?.[Symbol.dispose]()
    timer = undefined
    timerMs = Number.POSITIVE_INFINITY
  }

  const arm = () => {
    const earliestMs = Math.min(...dueMs.values())
    if (earliestMs >= timerMs) return
    disarm()
    timerMs = earliestMs
    timer = at(clock, earliestMs, fire)
  }

  const fire = () => {
    disarm()
    const nowMs = clock.now()
    for (const [name, atMs] of dueMs) {
      if (atMs > nowMs) continue
      dueMs.delete(name)
      ring(name)
    }
    arm()
  }

  return {
    set(name: string, atMs: number) {
      dueMs.set(name, Math.min(atMs, dueMs.get(name) ?? atMs))
      arm()
    },
    [Symbol.dispose]: disarm,
  }
}
