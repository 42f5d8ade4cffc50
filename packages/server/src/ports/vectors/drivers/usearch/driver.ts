/**
 * HNSW in this process (usearch), in a thread that is started for the first search and ends when nobody has searched
 * for a while. Nothing is kept on disk: the rows are told again.
 */

import { Worker } from "node:worker_threads"
import type { Clock } from "../../../../kernel/clock.ts"
import { every } from "../../../../kernel/every.ts"
import { PortError } from "../../../port-error.ts"
import type { Changes, VectorIndexPort } from "../../port.ts"
import type {
  CollectionReport,
  PackedChanges,
  Question,
  Request,
  Results,
  ThreadMessage,
} from "./messages.ts"

export interface UsearchOptions {
  /** What all collections together may take; those not used for longest make room. */
  readonly memoryBytes: number
  readonly clock: Clock
}

const THREAD = new URL("./thread.ts", import.meta.url)
const IDLE_MS_MAX = 15 * 60_000
const LOOK_EVERY_MS = 60_000
/** Searches that wait for the thread. At some milliseconds each, later ones would wait for seconds. */
const WAITING_MAX = 2_000

interface PendingRequest {
  readonly resolve: (result: never) => void
  readonly reject: (error: PortError) => void
}

const createThread = (memoryBytes: number) => {
  let worker: Worker | undefined
  let closed = false
  let count = 0
  let reports: ReadonlyMap<string, CollectionReport> = new Map()
  const waiting = new Map<number, PendingRequest>()

  const settle = (message: ThreadMessage) => {
    if ("report" in message) {
      reports = new Map(message.report.map(report => [report.id, report]))
      return
    }
    const entry = waiting.get(message.number)
    waiting.delete(message.number)
    if ("result" in message) entry?.resolve(message.result as never)
    else entry?.reject(new PortError(message.refusal.kind, message.refusal.message))
  }

  /** Nothing more is heard of a thread that ends; the next question starts another. */
  const lose = (cause?: unknown) => {
    worker = undefined
    reports = new Map()
    const lost = [...waiting.values()]
    waiting.clear()
    for (const { reject } of lost) reject(new PortError("unavailable", "the index thread ended", cause))
  }

  const start = (): Worker => {
    const started = new Worker(THREAD, { name: "vectors", env: {}, workerData: { memoryBytes } })
    started.unref()
    let cause: unknown
    started.on("message", (message: ThreadMessage) => {
      if (worker === started) settle(message)
    })
    started.on("error", error => {
      cause = error
    })
    started.on("exit", () => {
      if (worker === started) lose(cause)
    })
    return started
  }

  const stop = async () => {
    const ending = worker
    lose()
    await ending?.terminate()
  }

  return {
    reports: () => reports,
    isRunning: () => worker !== undefined,
    isBusy: () => waiting.size > 0,
    ask<Asked extends Request>(request: Asked, transfer: ArrayBuffer[] = []): Promise<Results[Asked["do"]]> {
      if (closed) throw new PortError("unavailable", "the index is closed")
      if (waiting.size >= WAITING_MAX) throw new PortError("unavailable", "too many searches are waiting")
      worker ??= start()
      count += 1
      const number = count
      const asked = worker
      return new Promise((resolve, reject) => {
        waiting.set(number, { resolve, reject })
        asked.postMessage({ ...request, number } satisfies Question, transfer)
      })
    },
    stop,
    async close() {
      closed = true
      await stop()
    },
  }
}

const pack = (dimension: number, { reset, upserts, deletes, through }: Changes): PackedChanges => {
  const values = new Float32Array(upserts.length * dimension)
  upserts.forEach((vector, n) => {
    values.set(vector.values, n * dimension)
  })
  return {
    ...{ reset, deletes, through, values },
    ids: upserts.map(({ id }) => id),
    metadata: upserts.map(({ metadata }) => metadata),
  }
}

export const openUsearchIndex = ({ memoryBytes, clock }: UsearchOptions): VectorIndexPort => {
  const thread = createThread(memoryBytes)
  const usedAt = new Map<string, number>()

  const use = (id: string) => {
    if (!thread.reports().has(id)) throw new PortError("missing", "the collection is not in memory")
    usedAt.set(id, clock.now())
  }

  const rest = async () => {
    const idleSince = clock.now() - IDLE_MS_MAX
    for (const id of thread.reports().keys()) {
      if ((usedAt.get(id) ?? 0) > idleSince) continue
      await thread.ask({ do: "drop", collectionId: id })
    }
    for (const id of usedAt.keys()) if (!thread.reports().has(id)) usedAt.delete(id)
    if (thread.reports().size === 0 && !thread.isBusy()) await thread.stop()
  }
  const resting = every(clock, LOOK_EVERY_MS, async () => {
    // Whoever uses a thread that ends is told so, and tells it the rows again.
    if (thread.isRunning()) await rest().catch(() => undefined)
  })

  return {
    capabilities: { engine: "usearch", shared: false },
    position: async ({ id }) => thread.reports().get(id)?.position,
    async apply(shape, changes) {
      if (changes.reset) usedAt.set(shape.id, clock.now())
      else use(shape.id)
      const packed = pack(shape.dimension, changes)
      await thread.ask({ do: "apply", shape, changes: packed }, [packed.values.buffer])
    },
    async search({ id }, query) {
      use(id)
      return thread.ask({ do: "search", collectionId: id, query })
    },
    async select({ id }, filter, limit) {
      use(id)
      return thread.ask({ do: "select", collectionId: id, filter, limit })
    },
    async count({ id }, filter) {
      use(id)
      return thread.ask({ do: "count", collectionId: id, filter })
    },
    async drop(collectionId) {
      if (thread.reports().has(collectionId)) await thread.ask({ do: "drop", collectionId })
    },
    state(collectionId) {
      const report = thread.reports().get(collectionId)
      if (!report) return "cold"
      return report.isBuilding ? "building" : "ready"
    },
    usage() {
      const reports = [...thread.reports().values()]
      return {
        collections: reports.length,
        vectors: reports.reduce((sum, { vectors }) => sum + vectors, 0),
        bytes: reports.reduce((sum, { bytes }) => sum + bytes, 0),
      }
    },
    health: async () => ({ ok: true }),
    async [Symbol.asyncDispose]() {
      await resting[Symbol.asyncDispose]()
      await thread.close()
    },
  }
}
