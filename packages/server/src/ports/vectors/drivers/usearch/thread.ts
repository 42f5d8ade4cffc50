/** The thread that holds the collections. Between two questions it lets the graphs catch up, a slice at a time. */
import { parentPort, workerData } from "node:worker_threads"
import { PortError } from "../../../port-error.ts"
import type { CollectionShape, VectorRecord } from "../../port.ts"
import { createMemoryCollection, type MemoryCollection } from "./collection.ts"
import type { PackedChanges, Question, Results, ThreadMessage } from "./messages.ts"

const { memoryBytes } = workerData as { memoryBytes: number }

/** How long a question may have to wait for the graphs. */
const SLICE_MS = 8

/** The one used last is at the end. */
const collections = new Map<string, MemoryCollection>()
let building = false

const tell = (message: ThreadMessage) => parentPort?.postMessage(message)

const report = () => {
  const all = [...collections].map(([id, collection]) => ({
    id,
    position: collection.position,
    vectors: collection.size,
    bytes: collection.bytes,
    isBuilding: collection.isBuilding,
  }))
  tell({ report: all })
}

const used = (id: string): MemoryCollection => {
  const collection = collections.get(id)
  if (!collection) throw new PortError("missing", "the collection is not in memory")
  collections.delete(id)
  collections.set(id, collection)
  return collection
}

const bytesTaken = (): number => [...collections.values()].reduce((sum, { bytes }) => sum + bytes, 0)

const tooLarge = () => new PortError("refused", `a collection needs more than ${memoryBytes} bytes of memory`)

/** Makes room by forgetting what was not used for longest; the last one used is the one that needs the room. */
const keepWithinMemory = () => {
  for (const id of [...collections.keys()].slice(0, -1)) {
    if (bytesTaken() <= memoryBytes) return
    collections.delete(id)
  }
  if (bytesTaken() <= memoryBytes) return
  collections.clear()
  throw tooLarge()
}

const unpack = ({ dimension }: CollectionShape, { ids, metadata, values }: PackedChanges): VectorRecord[] =>
  ids.map((id, n) => ({
    id,
    values: values.subarray(n * dimension, (n + 1) * dimension),
    metadata: metadata[n] ?? "{}",
  }))

const apply = (shape: CollectionShape, changes: PackedChanges): undefined => {
  const { reset, deletes, through } = changes
  if (reset) {
    collections.delete(shape.id)
    if (shape.count * shape.dimension * 4 > memoryBytes) throw tooLarge()
    collections.set(shape.id, createMemoryCollection(shape))
  }
  used(shape.id).apply({ reset, upserts: unpack(shape, changes), deletes, through })
  keepWithinMemory()
  if (building) return
  building = true
  setImmediate(build)
}

/** Questions that have come meanwhile are answered between two slices. */
const build = () => {
  const some = [...collections.values()].find(collection => collection.build(SLICE_MS))
  building = some !== undefined
  if (building) setImmediate(build)
  else report()
}

const answer = (question: Question): Results[keyof Results] => {
  switch (question.do) {
    case "apply":
      return apply(question.shape, question.changes)
    case "search":
      return used(question.collectionId).search(question.query)
    case "select":
      return used(question.collectionId).select(question.filter, question.limit)
    case "count":
      return used(question.collectionId).count(question.filter)
    case "drop":
      collections.delete(question.collectionId)
      return undefined
  }
}

parentPort?.on("message", (question: Question) => {
  const { number } = question
  try {
    const result = answer(question)
    // First, so that whoever gets the answer finds the position that goes with it.
    if (question.do === "apply" || question.do === "drop") report()
    tell({ number, result })
  } catch (error) {
    if (!(error instanceof PortError)) throw error
    report()
    tell({ number, refusal: { kind: error.kind, message: error.message } })
  }
})
