/** Keeps a server that just failed several times in a row out of the rotation, for longer each time. */
export interface Circuit {
  /** Whether requests may go there. */
  admits(nowMs: number): boolean
  succeeded(): void
  failed(nowMs: number): void
}

const FAILURES_MAX = 3
const OPEN_MS_MIN = 5_000
const OPEN_MS_MAX = 60_000

export const createCircuit = (): Circuit => {
  let failures = 0
  let openedTimes = 0
  let openUntilMs = 0
  return {
    admits: nowMs => nowMs >= openUntilMs,
    succeeded() {
      failures = 0
      openedTimes = 0
      openUntilMs = 0
    },
    failed(nowMs) {
      failures++
      // Requests that were under way as it opened fail too, and must not keep it open for longer.
      if (failures < FAILURES_MAX || nowMs < openUntilMs) return
      openUntilMs = nowMs + Math.min(OPEN_MS_MAX, OPEN_MS_MIN * 2 ** openedTimes)
      openedTimes++
      // One more failure after that time opens it again.
      failures = FAILURES_MAX - 1
    },
  }
}
