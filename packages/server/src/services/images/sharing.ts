/** Those who ask for one thing at the same moment share the work. */
export const createSharing = <Result>() => {
  const running = new Map<string, Promise<Result>>()
  return {
    all: () => [...running.values()],
    share(key: string, work: () => Promise<Result>): Promise<Result> {
      const shared = running.get(key) ?? work().finally(() => running.delete(key))
      running.set(key, shared)
      return shared
    },
  }
}
