/** Resources of one kind as the API last told of them, kept up to date by a watch. */
import { setTimeout as delay } from "node:timers/promises"
import { PortError } from "../port-error.ts"
import type { KubernetesApi, WatchEvent } from "./api.ts"
import { isAtLeast, type Kind, type Resources } from "./resources.ts"

export interface Observed<Item> extends AsyncDisposable {
  /** Takes in what an answer of the API told; older news than what is known is left out. */
  note(resource: Item): void
  get(name: string): Item | undefined
  all(): Iterable<Item>
  /**
   * Waits until `look` gives an answer for what is known of a name, or throws one. Fails as `unavailable` after
   * `timeoutMs`, with what `describe` says of the last that was known.
   */
  wait<Answer>(
    name: string,
    timeoutMs: number,
    look: (resource: Item | undefined) => { readonly answer: Answer } | undefined,
  ): Promise<Answer>
}

export interface ObserverOptions<Item> {
  readonly selector: string
  readonly retryMs: number
  readonly log: (line: string) => void
  /** Called after every change, with what was known before. */
  readonly changed?: ((now: Item | undefined, before: Item | undefined) => void) | undefined
  /** What state it is in, for people. */
  readonly describe: (resource: Item | undefined) => string
}

/** The API no longer has the changes since that revision. */
const GONE = 410
const RETRY_MS_MAX = 10_000

class HistoryGone extends Error {}

const createStore = <K extends Kind>(changed: ObserverOptions<Resources[K]>["changed"]) => {
  type Item = Resources[K]
  type Listener = (resource: Item | undefined) => void
  const known = new Map<string, Item>()
  const listeners = new Map<string, Set<Listener>>()

  const tell = (name: string, now: Item | undefined, before: Item | undefined) => {
    changed?.(now, before)
    for (const listener of [...(listeners.get(name) ?? [])]) listener(now)
  }
  const versionOf = (name: string) => known.get(name)?.metadata.resourceVersion

  return {
    known,
    put(resource: Item) {
      const { name, resourceVersion } = resource.metadata
      const before = known.get(name)
      if (before && isAtLeast(before.metadata.resourceVersion, resourceVersion)) return
      known.set(name, resource)
      tell(name, resource, before)
    },
    /** Forgets one unless something newer than `resourceVersion` is known of it. */
    drop(name: string, resourceVersion: string | undefined) {
      const before = known.get(name)
      if (!before || !isAtLeast(resourceVersion, versionOf(name))) return
      known.delete(name)
      tell(name, undefined, before)
    },
    listen(name: string, listener: Listener): Disposable {
      const those = listeners.get(name) ?? new Set()
      listeners.set(name, those.add(listener))
      return {
        [Symbol.dispose]() {
          those.delete(listener)
          if (those.size === 0) listeners.delete(name)
        },
      }
    },
  }
}

type Store<K extends Kind> = ReturnType<typeof createStore<K>>

const follow = async <K extends Kind>(
  { api, kind, store }: { api: KubernetesApi; kind: K; store: Store<K> },
  { selector, log, retryMs }: ObserverOptions<Resources[K]>,
  signal: AbortSignal,
) => {
  const { items, resourceVersion } = await api.list(kind, selector)
  const listed = new Set(items.map(({ metadata }) => metadata.name))
  for (const resource of items) store.put(resource)
  for (const name of [...store.known.keys()]) if (!listed.has(name)) store.drop(name, resourceVersion)

  let since = resourceVersion
  const take = (event: WatchEvent<Resources[K]>) => {
    if (event.type === "ERROR")
      throw event.object.code === GONE ? new HistoryGone() : new Error("the watch broke")
    since = event.object.metadata.resourceVersion ?? since
    if (event.type === "DELETED") store.drop(event.object.metadata.name, since)
    else if (event.type !== "BOOKMARK") store.put(event.object)
  }
  while (!signal.aborted) {
    await api.watch(kind, { selector, resourceVersion: since }, take, signal).catch(error => {
      const cause = error instanceof PortError ? error.cause : error
      if (!(cause instanceof HistoryGone)) log(`${error}`)
      throw error
    })
    await delay(retryMs, undefined, { signal, ref: false }).catch(() => undefined)
  }
}

export const observe = <K extends Kind>(
  api: KubernetesApi,
  kind: K,
  options: ObserverOptions<Resources[K]>,
): Observed<Resources[K]> => {
  const closing = new AbortController()
  const store = createStore<K>(options.changed)

  const run = async () => {
    let waitMs = options.retryMs
    while (!closing.signal.aborted) {
      const startedAt = performance.now()
      await follow({ api, kind, store }, options, closing.signal).catch(() => undefined)
      waitMs =
        performance.now() - startedAt > RETRY_MS_MAX ? options.retryMs : Math.min(waitMs * 2, RETRY_MS_MAX)
      await delay(waitMs, undefined, { signal: closing.signal, ref: false }).catch(() => undefined)
    }
  }
  const running = run()

  return {
    note: store.put,
    get: name => store.known.get(name),
    all: () => store.known.values(),
    async wait(name, timeoutMs, look) {
      type Answer = NonNullable<ReturnType<typeof look>>["answer"]
      const end = Promise.withResolvers<Answer>()
      const settle = (resource: Resources[K] | undefined) => {
        try {
          const found = look(resource)
          if (found) end.resolve(found.answer)
        } catch (error) {
          end.reject(error)
        }
      }
      const fail = () => {
        const why = closing.signal.aborted ? "the driver closes" : options.describe(store.known.get(name))
        end.reject(new PortError("unavailable", `${name} is not yet as wanted: ${why}`))
      }
      using _listening = store.listen(name, settle)
      const timer = setTimeout(fail, timeoutMs)
      closing.signal.addEventListener("abort", fail)
      settle(store.known.get(name))
      try {
        return await end.promise
      } finally {
        clearTimeout(timer)
        closing.signal.removeEventListener("abort", fail)
      }
    },
    async [Symbol.asyncDispose]() {
      closing.abort()
      await running
    },
  }
}
