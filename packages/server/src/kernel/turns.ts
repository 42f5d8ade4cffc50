/** Lets so many run at once; the others wait their turn. */
export const createTurns = (atOnce: number) => {
  const waiting: (() => void)[] = []
  let free = atOnce
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (free > 0) free -= 1
    else await new Promise<void>(resolve => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else free += 1
    }
  }
}

/** Runs what has the same key one after the other. */
export type TurnsByKey = ReturnType<typeof createTurnsByKey>

export const createTurnsByKey = () => {
  const last = new Map<string, Promise<unknown>>()
  return async <Result>(key: string, task: () => Promise<Result>): Promise<Result> => {
    const before = last.get(key)
    const turn = Promise.resolve(before)
      .catch(() => undefined)
      .then(task)
    last.set(key, turn)
    try {
      return await turn
    } finally {
      if (last.get(key) === turn) last.delete(key)
    }
  }
}
