/** Options of a batcher. */
export interface BatcherOptions<Item, Result> {
  /** Largest number of items in a batch. */
  readonly itemsMax: number
  /** Largest number of batches that run at the same time; meanwhile items queue for the next batch. */
  readonly atOnceMax: number
  /** Returns an outcome for each item, in order. A rejection rejects the whole batch. */
  readonly perform: (items: readonly Item[]) => Promise<readonly PromiseSettledResult<Result>[]>
}

interface PendingItem<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/** Combines concurrent calls into one statement or commit: calls during a batch share the next one. */
export const createBatcher = <Item, Result>({
  itemsMax,
  atOnceMax,
  perform,
}: BatcherOptions<Item, Result>): ((item: Item) => Promise<Result>) => {
  const waiting: PendingItem<Item, Result>[] = []
  let atOnce = 0
  let isPlanned = false

  const performFor = async (batch: readonly PendingItem<Item, Result>[]) => {
    try {
      const outcomes = await perform(batch.map(({ item }) => item))
      for (const [at, { resolve, reject }] of batch.entries()) {
        const outcome = outcomes[at]
        if (outcome?.status === "fulfilled") resolve(outcome.value)
        else reject(outcome?.reason)
      }
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }

  const run = () => {
    isPlanned = false
    while (atOnce < atOnceMax && waiting.length > 0) {
      atOnce++
      void performFor(waiting.splice(0, itemsMax)).then(() => {
        atOnce--
        run()
      })
    }
  }

  return item =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (isPlanned || atOnce >= atOnceMax) return
      isPlanned = true
      // Calls of the same turn of the event loop share a batch.
      setImmediate(run)
    })
}
