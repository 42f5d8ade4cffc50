import { createBoundedCache } from "./bounded-cache.ts"
import type { Changes } from "./db/changes.ts"

/** Pushed news empty the cache at once; this bounds what a lost message could cost. */
const FRESH_MS = 10_000

interface Entry<Value> {
  readonly value: Value
  readonly id: string | undefined
  readonly freshUntilMs: number
}

export interface PushedCacheOptions<Value> {
  readonly changes: Changes
  /** What news of a topic make stale: the one entry whose `idOf` they name, or every entry. */
  readonly topics: Readonly<Record<string, "one" | "all">>
  /** Reads what is not known. `undefined` is not kept. */
  readonly read: (key: string) => Promise<Value>
  readonly idOf: (value: Value) => string | undefined
  readonly entriesMax: number
  /** Milliseconds that never run backwards. */
  readonly elapsedMs?: () => number
}

export interface PushedCache<Value> {
  /** Synchronous when the cache knows. */
  find(key: string): Value | Promise<Value>
}

/**
 * Values from the database by key, from memory where possible. A change anywhere reaches this cache by `changes`; while
 * those cannot be heard nothing is cached.
 */
export const createPushedCache = <Value>(options: PushedCacheOptions<Value>): PushedCache<Value> => {
  const { changes, read, idOf, elapsedMs = () => performance.now() } = options
  const keyById = new Map<string, string>()
  const entries = createBoundedCache<Entry<Value>>(options.entriesMax, ({ id }, key) => {
    if (id !== undefined && keyById.get(id) === key) keyById.delete(id)
  })
  const running = new Map<string, Promise<Value>>()
  /** Counts the news, so that a row read before some of them is not kept after. */
  let newsCount = 0

  const forget = (id: string | undefined) => {
    newsCount++
    // Who asks from now on must not be told what was read before the news.
    running.clear()
    const key = id === undefined ? undefined : keyById.get(id)
    if (id === undefined) entries.clear()
    else if (key !== undefined) entries.delete(key)
  }
  for (const [topic, reach] of Object.entries(options.topics)) {
    changes.subscribe(topic, reach === "one" ? forget : () => forget(undefined))
  }

  const load = async (key: string): Promise<Value> => {
    const newsBefore = newsCount
    const value = await read(key)
    if (value !== undefined && changes.listening && newsBefore === newsCount) {
      const id = idOf(value)
      entries.set(key, { value, id, freshUntilMs: elapsedMs() + FRESH_MS })
      if (id !== undefined) keyById.set(id, key)
    }
    return value
  }

  /** Callers that come at once share one query. */
  const loadOnce = (key: string): Promise<Value> => {
    const shared = running.get(key)
    if (shared) return shared
    const loading = load(key).finally(() => {
      if (running.get(key) === loading) running.delete(key)
    })
    running.set(key, loading)
    return loading
  }

  return {
    find(key) {
      const entry = entries.get(key)
      return entry && elapsedMs() < entry.freshUntilMs ? entry.value : loadOnce(key)
    },
  }
}
