/** How what comes at once is done together. */
export interface GatheringOptions<Item, Result> {
  /** Items of one performance. */
  readonly itemsMax: number
  /** Performances under way: while they are, the next one gathers. */
  readonly atOnceMax: number
  /** An outcome for each item, in their order. What it throws, all of its items get. */
  readonly perform: (items: readonly Item[]) => Promise<readonly PromiseSettledResult<Result>[]>
}

interface PendingItem<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/** Makes one statement, or one commit, of many calls: those that come while one is under way share the next. */
export const createGathering = <Item, Result>({
  itemsMax,
  atOnceMax,
  perform,
}: GatheringOptions<Item, Result>): ((item: Item) => Promise<Result>) => {
  const waiting: PendingItem<Item, Result>[] = []
  let atOnce = 0
  let isPlanned = false

  const performFor = async (gathered: readonly PendingItem<Item, Result>[]) => {
    try {
      const outcomes = await perform(gathered.map(({ item }) => item))
      for (const [at, { resolve, reject }] of gathered.entries()) {
        const outcome = outcomes[at]
        if (outcome?.status === "fulfilled") resolve(outcome.value)
        else reject(outcome?.reason)
      }
    } catch (error) {
      for (const { reject } of gathered) reject(error)
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
      // What comes in the same turn goes together.
      setImmediate(run)
    })
}
