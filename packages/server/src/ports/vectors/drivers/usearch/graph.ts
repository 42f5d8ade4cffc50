/** A graph (HNSW) over slots. It only grows: a vector that is gone stays a step on the way to others. */
import { Index, MetricKind, ScalarKind } from "usearch"
import { type Bits, hasBit } from "./bits.ts"
import type { Blocks, Distance } from "./blocks.ts"
import { GONE } from "./metadata.ts"

export interface GraphShape {
  readonly dimension: number
  readonly kind: Distance
  /** Whether all rows have length one, so that half as many bits find the same neighbours. */
  readonly unit: boolean
  readonly m: number
  readonly efConstruction: number
}

export interface Graph {
  /** Entries, those of vectors that are gone included. */
  readonly size: number
  /** Slots below this one are in the graph if they were alive then. */
  readonly covered: number
  readonly bytes: number
  /** Adds the slots up to `end`, for about `budgetMs`. */
  grow(rows: Blocks, live: Bits, end: number, budgetMs: number): void
  /** About the `k` nearest entries, as slots. */
  search(query: Float32Array, k: number): number[]
  renumber(slotOf: Uint32Array): void
}

/** Between two looks at the clock; a vector takes about 0.2 ms. */
const ADDED_AT_ONCE = 32
/** A floor for the candidates; what the caller wants is given with each search. */
const EF_MIN = 16

export const createGraph = ({ dimension, kind, unit, m, efConstruction }: GraphShape): Graph => {
  const index = new Index({
    dimensions: dimension,
    metric: kind === "product" ? MetricKind.IP : MetricKind.L2sq,
    quantization: unit ? ScalarKind.F16 : ScalarKind.F32,
    connectivity: m,
    expansion_add: efConstruction,
    expansion_search: EF_MIN,
    multi: false,
  })
  // A row, twice `m` links on the lowest level and some above it, and the map from keys to places.
  const bytesPerEntry = dimension * (unit ? 2 : 4) + 2 * m * 5 + m * 2 + 64
  let slotOfKey = new Uint32Array(1024)
  let size = 0
  let covered = 0

  const add = (rows: Blocks, slots: readonly number[]) => {
    if (slots.length === 0) return
    const values = new Float32Array(slots.length * dimension)
    slots.forEach((slot, n) => {
      rows.copy(slot, values, n * dimension)
    })
    index.add(
      BigUint64Array.from(slots, (_, n) => BigInt(size + n)),
      values,
      1,
    )
    if (size + slots.length > slotOfKey.length) {
      const grown = new Uint32Array(2 * slotOfKey.length)
      grown.set(slotOfKey)
      slotOfKey = grown
    }
    slotOfKey.set(slots, size)
    size += slots.length
  }

  return {
    get size() {
      return size
    },
    get covered() {
      return covered
    },
    get bytes() {
      return size * bytesPerEntry
    },
    grow(rows, live, end, budgetMs) {
      const deadline = performance.now() + budgetMs
      while (covered < end && performance.now() < deadline) {
        const to = Math.min(end, covered + ADDED_AT_ONCE)
        const slots: number[] = []
        for (let slot = covered; slot < to; slot++) if (hasBit(live, slot)) slots.push(slot)
        add(rows, slots)
        covered = to
      }
    },
    search(query, k) {
      if (size === 0) return []
      const { keys } = index.search(query, Math.min(k, size), 1)
      return Array.from(keys, key => slotOfKey[Number(key)] ?? GONE).filter(slot => slot !== GONE)
    },
    renumber(slotOf) {
      covered = slotOf.subarray(0, covered).reduce((sum, slot) => sum + (slot === GONE ? 0 : 1), 0)
      for (let key = 0; key < size; key++) {
        const slot = slotOfKey[key] ?? GONE
        slotOfKey[key] = slot === GONE ? GONE : (slotOf[slot] ?? GONE)
      }
    },
  }
}
