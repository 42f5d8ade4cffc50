/**
 * Who in this process has a hand on a blob: writers from its publication until the row that refers to it is committed,
 * and readers that open their pieces one after the other. What nobody holds may be removed, alone. Between processes
 * nothing is needed: a store that several share never publishes an address twice.
 */
export interface Claims {
  /** Waits until nobody removes any of them. */
  hold(owner: string, addresses: readonly string[]): Promise<Disposable>
  /** Runs `remove` while nobody can take hold of the blob; false, and nothing happens, when somebody has. */
  alone(owner: string, address: string, remove: () => Promise<void>): Promise<boolean>
}

export const createClaims = (): Claims => {
  const holds = new Map<string, number>()
  const removals = new Map<string, Promise<void>>()

  const release = (name: string) => {
    const left = (holds.get(name) ?? 1) - 1
    if (left === 0) holds.delete(name)
    else holds.set(name, left)
  }

  return {
    async hold(owner, addresses) {
      const names = addresses.map(address => `${owner}/${address}`)
      for (;;) {
        const removal = names.map(name => removals.get(name)).find(found => found !== undefined)
        if (!removal) break
        await removal
      }
      for (const name of names) holds.set(name, (holds.get(name) ?? 0) + 1)
      return { [Symbol.dispose]: () => names.forEach(release) }
    },

    async alone(owner, address, remove) {
      const name = `${owner}/${address}`
      if (holds.has(name) || removals.has(name)) return false
      const removal = remove()
      removals.set(
        name,
        removal.then(
          () => undefined,
          () => undefined,
        ),
      )
      try {
        await removal
        return true
      } finally {
        removals.delete(name)
      }
    },
  }
}
