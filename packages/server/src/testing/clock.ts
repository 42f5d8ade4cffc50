import type { Clock } from "../kernel/clock.ts"

export interface TestClock extends Clock {
  /** Moves time on, and runs every tick that falls due on the way, one after the other. */
  advance(ms: number): Promise<void>
}

interface Ticker {
  readonly everyMs: number
  readonly tick: () => void | Promise<void>
  dueMs: number
}

/** A clock that a test turns by hand. It starts at the present, because the database has a clock of its own. */
export const createTestClock = (startMs: number = Date.now()): TestClock => {
  let nowMs = startMs
  const tickers = new Set<Ticker>()

  const nextDue = (untilMs: number): Ticker | undefined =>
    [...tickers].filter(({ dueMs }) => dueMs <= untilMs).sort((a, b) => a.dueMs - b.dueMs)[0]

  return {
    now: () => nowMs,
    every(everyMs, tick) {
      const ticker = { everyMs, tick, dueMs: nowMs + everyMs }
      tickers.add(ticker)
      return { [Symbol.dispose]: () => void tickers.delete(ticker) }
    },
    async advance(ms) {
      const untilMs = nowMs + ms
      for (let ticker = nextDue(untilMs); ticker; ticker = nextDue(untilMs)) {
        nowMs = Math.max(nowMs, ticker.dueMs)
        ticker.dueMs += ticker.everyMs
        // A ticker of seconds need not run a million times because a test moves on by weeks.
        if (untilMs - ticker.dueMs > 100 * ticker.everyMs) ticker.dueMs = untilMs - ticker.everyMs
        await ticker.tick()
      }
      nowMs = untilMs
    },
  }
}
