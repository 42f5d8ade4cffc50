/**
 * One collection in memory. Every write of a vector takes a new slot, and the one it had before is dead; when a third
 * are dead, the living move together. A search plans by how many vectors fit: few are compared one by one, many are
 * looked for in the graph, with more candidates the more the filter leaves out.
 */
import type { Condition } from "../../filter.ts"
import type { Changes, CollectionShape, VectorMatch, VectorMatches, VectorQuery } from "../../port.ts"
import {
  allBits,
  type Bits,
  clearBit,
  countBits,
  eachBit,
  hasBit,
  intersect,
  noBits,
  setBit,
} from "./bits.ts"
import { type Blocks, createBlocks, type Distance } from "./blocks.ts"
import { createGraph, type Graph, type GraphShape } from "./graph.ts"
import { createMetadataIndex, GONE } from "./metadata.ts"

/** Up to here comparing all takes about a millisecond. */
const EXACT_MAX = 20_000
/** A collection that asks for a graph has it from the start; over so few vectors it would gain nothing. */
const EXACT_MAX_HNSW = 1_000
/** Below this share of fitting vectors, a walk through the graph meets too few of them. */
const EXACT_SHARE = 0.02
const EF_DEFAULT = 64
/** Candidates of one walk; a filter that needs more is faster compared one by one. */
const CANDIDATES_MAX = 8_192
const DEAD_MIN = 1_024
const BYTES_PER_ID = 160

export interface MemoryCollection {
  readonly position: number
  readonly size: number
  readonly bytes: number
  readonly isBuilding: boolean
  apply(changes: Changes): void
  search(query: VectorQuery): VectorMatches
  select(filter: Condition, limit: number): string[]
  count(filter: Condition): number
  /** Lets the graph catch up for about so long; false when there is nothing left to do. */
  build(budgetMs: number): boolean
}

const unitLength = (values: Float32Array): Float32Array => {
  let sum = 0
  for (const value of values) sum += value * value
  const length = Math.sqrt(sum)
  return values.map(value => value / length)
}

const byScore = (a: VectorMatch, b: VectorMatch): number =>
  b.score - a.score || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

const exactLimit = ({ type }: CollectionShape): number =>
  type === "flat" ? Number.POSITIVE_INFINITY : type === "hnsw" ? EXACT_MAX_HNSW : EXACT_MAX

export const createMemoryCollection = (shape: CollectionShape): MemoryCollection => {
  const { dimension, metric } = shape
  const isCosine = metric === "cosine"
  const kind: Distance = metric === "euclidean" ? "squares" : "product"
  const graphShape: GraphShape = { ...shape, kind, unit: isCosine }
  const exactMax = exactLimit(shape)

  const slotOfId = new Map<string, number>()
  const metadata = createMetadataIndex()
  let ids: (string | undefined)[] = []
  let rows: Blocks = createBlocks(dimension, kind)
  let live: Bits = noBits(1024)
  /** The one that searches use, and its successor without the dead. */
  let graph: Graph | undefined
  let next: Graph | undefined
  let position = 0

  const scoreOf = (distance: number): number => {
    if (metric === "euclidean") return 1 / (1 + Math.sqrt(distance))
    return isCosine ? Math.min(1, Math.max(-1, -distance)) : -distance
  }

  const forget = (id: string) => {
    const slot = slotOfId.get(id)
    if (slot === undefined) return
    slotOfId.delete(id)
    clearBit(live, slot)
    ids[slot] = undefined
  }

  const write = (id: string, values: Float32Array, text: string) => {
    forget(id)
    const slot = rows.length
    rows.push(isCosine ? unitLength(values) : values)
    metadata.add(slot, text)
    if (slot >= live.length * 32) {
      const grown = new Uint32Array(live.length * 2)
      grown.set(live)
      live = grown
    }
    setBit(live, slot)
    ids.push(id)
    slotOfId.set(id, slot)
  }

  const compact = () => {
    const slotOf = new Uint32Array(rows.length).fill(GONE)
    const kept = createBlocks(dimension, kind)
    const row = new Float32Array(dimension)
    eachBit(live, 0, rows.length, slot => {
      slotOf[slot] = kept.length
      rows.copy(slot, row, 0)
      kept.push(row)
    })
    ids = ids.filter(id => id !== undefined)
    ids.forEach((id, slot) => {
      if (id !== undefined) slotOfId.set(id, slot)
    })
    metadata.renumber(slotOf)
    graph?.renumber(slotOf)
    next?.renumber(slotOf)
    rows = kept
    live = noBits(Math.max(1024, 2 * kept.length))
    live.set(allBits(kept.length))
    if (graph && graph.size > 2 * graph.covered) next ??= createGraph(graphShape)
  }

  const fitting = (filter: Condition): Bits => {
    const bits = metadata.evaluate(filter, rows.length, id => slotOfId.get(id))
    intersect(bits, live)
    return bits
  }

  const compared = (vector: Float32Array, slots: readonly number[], { topK, scoreThreshold }: VectorQuery) =>
    slots
      .map(slot => ({ id: ids[slot] ?? "", score: scoreOf(rows.distance(vector, slot)) }))
      .filter(({ score }) => scoreThreshold === undefined || score >= scoreThreshold)
      .sort(byScore)
      .slice(0, topK)

  /** The slots near the query that fit, by the graph; undefined when it finds too few. */
  const walk = (vector: Float32Array, { topK, ef }: VectorQuery, among: Bits, fits: number, graph: Graph) => {
    const wanted = Math.max(ef ?? Math.max(EF_DEFAULT, 2 * topK), topK)
    let candidates = Math.ceil((wanted * graph.size) / fits)
    for (; candidates <= CANDIDATES_MAX; candidates *= 4) {
      const slots = graph.search(vector, candidates).filter(slot => hasBit(among, slot))
      if (slots.length >= topK) return slots
    }
    return undefined
  }

  const search: MemoryCollection["search"] = query => {
    const { topK, filter } = query
    const vector = isCosine ? unitLength(query.vector) : query.vector
    const size = rows.length
    const among = filter ? fitting(filter) : slotOfId.size === size ? undefined : live
    const fits = filter && among ? countBits(among) : slotOfId.size
    if (fits === 0) return { matches: [], exact: true }
    const scan = (from: number) => rows.scan(vector, topK, from, size, among).map(({ slot }) => slot)

    const isWorthAWalk = !query.exact && fits > exactMax && fits >= EXACT_SHARE * slotOfId.size
    if (isWorthAWalk && graph && graph.covered > 0) {
      const near = walk(vector, query, among ?? live, fits, graph)
      if (near) return { matches: compared(vector, [...near, ...scan(graph.covered)], query), exact: false }
    }
    return { matches: compared(vector, scan(0), query), exact: true }
  }

  return {
    get position() {
      return position
    },
    get size() {
      return slotOfId.size
    },
    get bytes() {
      return (
        rows.bytes + metadata.bytes + (graph?.bytes ?? 0) + (next?.bytes ?? 0) + ids.length * BYTES_PER_ID
      )
    },
    get isBuilding() {
      return slotOfId.size > exactMax && (graph === undefined || graph.covered < rows.length)
    },
    apply({ upserts, deletes, through }) {
      for (const { id, values, metadata } of upserts) write(id, values, metadata)
      deletes.forEach(forget)
      position = Math.max(position, through)
      const dead = rows.length - slotOfId.size
      if (dead > DEAD_MIN && dead > rows.length / 3) compact()
    },
    search,
    select(filter, limit) {
      const found: string[] = []
      eachBit(fitting(filter), 0, rows.length, slot => {
        if (found.length < limit) found.push(ids[slot] ?? "")
      })
      return found
    },
    count: filter => countBits(fitting(filter)),
    build(budgetMs) {
      if (slotOfId.size > exactMax) graph ??= createGraph(graphShape)
      const growing = next ?? graph
      growing?.grow(rows, live, rows.length, budgetMs)
      if (!growing || growing.covered < rows.length) return growing !== undefined
      if (next) graph = next
      next = undefined
      return false
    },
  }
}
