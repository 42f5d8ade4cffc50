/** Runs tasks with the same key one after the other, in the order of their coming; other keys do not wait. */
export interface KeyedMutex {
  run<Result>(key: string, task: () => Promise<Result>): Promise<Result>
}

export const createKeyedMutex = (): KeyedMutex => {
  const last = new Map<string, Promise<unknown>>()
  return {
    async run(key, task) {
      const run = Promise.resolve(last.get(key))
        .catch(() => undefined)
        .then(task)
      last.set(key, run)
      try {
        return await run
      } finally {
        if (last.get(key) === run) last.delete(key)
      }
    },
  }
}
