/** Time as the platform sees it. Tests hand in a clock they turn by hand. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Calls back every `everyMs` until disposed. A tick never overlaps the one before. */
  every(everyMs: number, tick: () => void | Promise<void>): Disposable
}

export const systemClock: Clock = {
  now: Date.now,
  every(everyMs, tick) {
    let running = false
    const timer = setInterval(async () => {
      if (running) return
      running = true
      try {
        await tick()
      } finally {
        running = false
      }
    }, everyMs)
    timer.unref()
    return { [Symbol.dispose]: () => clearInterval(timer) }
  },
}
