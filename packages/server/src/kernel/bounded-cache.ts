import { LRUCache } from "lru-cache"

/**
 * A cache by name that forgets the least recently used past `entriesMax`. The library reserves memory for all entries
 * at once where it is told their number (2 MB for 100,000, and 9 ms); where it is told a size, it grows with them.
 */
export const createBoundedCache = <Value extends object | string | true>(
  entriesMax: number,
  dispose?: (value: Value, key: string) => void,
): LRUCache<string, Value> =>
  new LRUCache({ maxSize: entriesMax, sizeCalculation: () => 1, ...(dispose && { dispose }) })
