/** Room that is taken before it is used, and waited for where there is none. */
export interface Latch {
  /** Resolves once there is so much. Rejects when the signal aborts. */
  take(amount: number): Promise<void>
  give(amount: number): void
}

export const createLatch = (amount: number, signal: AbortSignal): Latch => {
  let room = amount
  let wake: (() => void) | undefined
  signal.addEventListener("abort", () => wake?.(), { once: true })
  return {
    async take(wanted) {
      while (room < wanted && !signal.aborted) {
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
      signal.throwIfAborted()
      room -= wanted
    },
    give(given) {
      room += given
      wake?.()
    },
  }
}
