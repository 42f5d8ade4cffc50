/** The Clusters of all volumes as the API last told of them, kept up to date by a watch. */
import { setTimeout as delay } from "node:timers/promises"
import { PortError } from "../../../port-error.ts"
import type { KubernetesApi, WatchEvent } from "./api.ts"
import { failureOf } from "./cluster-state.ts"
import { type ClusterResource, isAtLeast } from "./resources.ts"

export interface ObservedClusters extends AsyncDisposable {
  /** Takes in what an answer of the API told; older news than what is known is left out. */
  note(cluster: ClusterResource): void
  get(name: string): ClusterResource | undefined
  all(): Iterable<ClusterResource>
  /**
   * Waits until a Cluster is as wanted. Fails as `missing` when it goes, as `refused` when the operator has given it up,
   * and as `unavailable` after `timeoutMs`.
   */
  until(
    name: string,
    isWanted: (cluster: ClusterResource) => boolean,
    timeoutMs: number,
  ): Promise<ClusterResource>
  untilGone(name: string, timeoutMs: number): Promise<void>
}

export interface ObserverOptions {
  readonly selector: string
  readonly retryMs: number
  readonly log: (line: string) => void
  /** Called after every change, with what was known before. */
  readonly changed: (now: ClusterResource | undefined, before: ClusterResource | undefined) => void
}

/** The API no longer has the changes since that revision. */
const GONE = 410
const RETRY_MS_MAX = 10_000

class HistoryGone extends Error {}

type Listener = (cluster: ClusterResource | undefined) => void

const createStore = (changed: ObserverOptions["changed"]) => {
  const known = new Map<string, ClusterResource>()
  const listeners = new Map<string, Set<Listener>>()

  const tell = (name: string, now: ClusterResource | undefined, before: ClusterResource | undefined) => {
    changed(now, before)
    for (const listener of [...(listeners.get(name) ?? [])]) listener(now)
  }
  const versionOf = (name: string) => known.get(name)?.metadata.resourceVersion

  return {
    known,
    put(cluster: ClusterResource) {
      const { name, resourceVersion } = cluster.metadata
      const before = known.get(name)
      if (before && isAtLeast(before.metadata.resourceVersion, resourceVersion)) return
      known.set(name, cluster)
      tell(name, cluster, before)
    },
    /** Forgets a Cluster unless something newer than `resourceVersion` is known of it. */
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

type Store = ReturnType<typeof createStore>

const follow = async (api: KubernetesApi, store: Store, options: ObserverOptions, signal: AbortSignal) => {
  const { selector, log } = options
  const { items, resourceVersion } = await api.list("clusters", selector)
  const listed = new Set(items.map(({ metadata }) => metadata.name))
  for (const cluster of items) store.put(cluster)
  for (const name of [...store.known.keys()]) if (!listed.has(name)) store.drop(name, resourceVersion)

  let since = resourceVersion
  const take = (event: WatchEvent<ClusterResource>) => {
    if (event.type === "ERROR")
      throw event.object.code === GONE ? new HistoryGone() : new Error("the watch broke")
    since = event.object.metadata.resourceVersion ?? since
    if (event.type === "DELETED") store.drop(event.object.metadata.name, since)
    else if (event.type !== "BOOKMARK") store.put(event.object)
  }
  while (!signal.aborted) {
    await api.watch("clusters", { selector, resourceVersion: since }, take, signal).catch(error => {
      const cause = error instanceof PortError ? error.cause : error
      if (!(cause instanceof HistoryGone)) log(`${error}`)
      throw error
    })
    await delay(options.retryMs, undefined, { signal, ref: false }).catch(() => undefined)
  }
}

export const observeClusters = (api: KubernetesApi, options: ObserverOptions): ObservedClusters => {
  const closing = new AbortController()
  const store = createStore(options.changed)

  const run = async () => {
    let waitMs = options.retryMs
    while (!closing.signal.aborted) {
      const startedAt = performance.now()
      await follow(api, store, options, closing.signal).catch(() => undefined)
      waitMs =
        performance.now() - startedAt > RETRY_MS_MAX ? options.retryMs : Math.min(waitMs * 2, RETRY_MS_MAX)
      await delay(waitMs, undefined, { signal: closing.signal, ref: false }).catch(() => undefined)
    }
  }
  const running = run()

  /** `look` gives an answer, throws one, or leaves it to the next change. */
  const wait = async <Answer>(
    name: string,
    timeoutMs: number,
    look: (cluster: ClusterResource | undefined) => { answer: Answer } | undefined,
  ): Promise<Answer> => {
    const end = Promise.withResolvers<Answer>()
    const settle = (cluster: ClusterResource | undefined) => {
      try {
        const found = look(cluster)
        if (found) end.resolve(found.answer)
      } catch (error) {
        end.reject(error)
      }
    }
    const fail = () => {
      const { phase = "no status", phaseReason = "" } = store.known.get(name)?.status ?? {}
      const why = closing.signal.aborted ? "the engine closes" : `${phase} ${phaseReason}`.trim()
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
  }

  return {
    note: store.put,
    get: name => store.known.get(name),
    all: () => store.known.values(),
    until: (name, isWanted, timeoutMs) =>
      wait(name, timeoutMs, cluster => {
        if (!cluster) throw new PortError("missing", `there is no Cluster ${name}`)
        const failure = failureOf(cluster)
        if (failure !== undefined) throw new PortError("refused", `${name}: ${failure}`)
        return isWanted(cluster) ? { answer: cluster } : undefined
      }),
    untilGone: (name, timeoutMs) =>
      wait(name, timeoutMs, cluster => (cluster === undefined ? { answer: undefined } : undefined)),
    async [Symbol.asyncDispose]() {
      closing.abort()
      await running
    },
  }
}
