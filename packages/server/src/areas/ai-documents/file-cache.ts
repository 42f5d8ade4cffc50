/** Files that were asked for a moment ago. They are made from what is stored, so all of them can be forgotten. */
import { LRUCache } from "lru-cache"

const BYTES_MAX = 32 * 1024 * 1024

export interface FileCache {
  get(name: string): Uint8Array | undefined
  set(name: string, bytes: Uint8Array): void
}

export const createFileCache = (): FileCache => {
  const files = new LRUCache<string, Uint8Array>({
    maxSize: BYTES_MAX,
    sizeCalculation: ({ byteLength }) => byteLength + 1,
  })
  return {
    get: name => files.get(name),
    set: (name, bytes) => void files.set(name, bytes),
  }
}
