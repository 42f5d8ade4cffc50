/** Runs `act` for every item, at most `atOnce` at the same time. The first failure ends it, once those under way are over. */
export const each = async <Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  atOnce: number,
  act: (item: Item) => Promise<void>,
): Promise<void> => {
  const running = new Set<Promise<void>>()
  const failures: unknown[] = []
  for await (const item of items) {
    if (failures.length > 0) break
    const one: Promise<void> = act(item)
      .catch(error => void failures.push(error))
      .finally(() => running.delete(one))
    running.add(one)
    if (running.size >= atOnce) await Promise.race(running)
  }
  await Promise.all(running)
  if (failures.length > 0) throw failures[0]
}
