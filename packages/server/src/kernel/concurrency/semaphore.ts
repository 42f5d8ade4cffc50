/** A counting semaphore: callers wait for permits in the order of their arrival. */
export interface Semaphore {
  /** Resolves once so many permits are free. Rejects with the signal's reason when it aborts. */
  acquire(amount?: number, signal?: AbortSignal): Promise<void>
  /** More may be released than were acquired: flow control grants credit this way. */
  release(amount?: number): void
  /** Runs `work` while holding one permit. */
  run<Result>(work: () => Promise<Result>): Promise<Result>
  /** How many wait for permits. */
  readonly waiting: number
}

export interface SemaphoreOptions {
  /** Beyond this many waiting callers, `acquire` throws what `full` gives. */
  readonly waitingMax: number
  readonly full: () => Error
}

interface Waiter {
  readonly amount: number
  readonly grant: () => void
}

export const createSemaphore = (permits: number, options?: SemaphoreOptions): Semaphore => {
  const waiters: Waiter[] = []
  let free = permits

  const grantWaiting = () => {
    for (let first = waiters[0]; first && first.amount <= free; first = waiters[0]) {
      waiters.shift()
      free -= first.amount
      first.grant()
    }
  }

  const wait = (amount: number, signal: AbortSignal | undefined): Promise<void> =>
    new Promise((resolve, reject) => {
      const abort = () => {
        waiters.splice(waiters.indexOf(waiter), 1)
        reject(signal?.reason)
        // Fewer permits may be enough for the next one.
        grantWaiting()
      }
      const waiter = {
        amount,
        grant: () => {
          signal?.removeEventListener("abort", abort)
          resolve()
        },
      }
      signal?.addEventListener("abort", abort, { once: true })
      waiters.push(waiter)
    })

  const acquire = async (amount = 1, signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted()
    if (waiters.length === 0 && free >= amount) {
      free -= amount
      return
    }
    if (options && waiters.length >= options.waitingMax) throw options.full()
    await wait(amount, signal)
  }

  const release = (amount = 1): void => {
    free += amount
    grantWaiting()
  }

  return {
    acquire,
    release,
    async run(work) {
      await acquire()
      try {
        return await work()
      } finally {
        release()
      }
    },
    get waiting() {
      return waiters.length
    },
  }
}

/** Runs one task at a time, in the order of their coming. */
export const createMutex = (): Pick<Semaphore, "run"> => createSemaphore(1)
export type Mutex = ReturnType<typeof createMutex>
