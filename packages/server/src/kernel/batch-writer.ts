interface BatchWriterNeeds<Item> {
  /** Items of one statement. */
  readonly batchMax: number
  /** Writes them, all or none. What it gives is done once they count as written. */
  readonly write: (items: readonly Item[]) => Promise<() => void>
  /** They wait on, for the next `flush`. */
  readonly failed: (error: unknown) => void
  /** Fewer wait, or writing has failed. */
  readonly settled?: () => void
}

export interface BatchWriter<Item> {
  add(item: Item): void
  /** Writes what waits; called again after a failure. */
  flush(): Promise<void>
  /** How many are not written. */
  size(): number
  /** Gives what is not written, and writes it no more. */
  forget(): readonly Item[]
}

/** Writes what comes: items that come while a statement is under way share the next one. */
export const createBatchWriter = <Item>(needs: BatchWriterNeeds<Item>): BatchWriter<Item> => {
  const { batchMax, write, failed, settled } = needs
  let waiting: Item[] = []
  let inFlight: readonly Item[] = []
  let flushing: Promise<void> | undefined
  let isPlanned = false

  const writeNext = async () => {
    const items = waiting.splice(0, batchMax)
    inFlight = items
    const afterwards = await write(items)
    // Else they were forgotten meanwhile.
    if (inFlight === items) {
      inFlight = []
      afterwards()
    }
    settled?.()
  }

  const writeAll = async () => {
    try {
      while (waiting.length > 0) await writeNext()
    } catch (error) {
      waiting = [...inFlight, ...waiting]
      inFlight = []
      failed(error)
      settled?.()
    } finally {
      flushing = undefined
    }
  }

  const flush = async (): Promise<void> => {
    if (waiting.length > 0) flushing ??= writeAll()
    await flushing
  }

  return {
    add(item) {
      waiting.push(item)
      if (flushing || isPlanned) return
      isPlanned = true
      // What came in the same turn goes together.
      setImmediate(() => {
        isPlanned = false
        void flush()
      })
    },
    flush,
    size: () => waiting.length + inFlight.length,
    forget() {
      const unwritten = [...inFlight, ...waiting]
      waiting = []
      inFlight = []
      return unwritten
    },
  }
}
