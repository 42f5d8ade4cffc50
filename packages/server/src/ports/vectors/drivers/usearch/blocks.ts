/** The vectors themselves, one row a slot, in blocks that grow; and the exact scan over them. */
import { exactSearch, MetricKind } from "usearch"
import { type Bits, eachBit } from "./bits.ts"

/** What distances are measured by: for the cosine, rows are kept at length one, so that it is their product. */
export type Distance = "product" | "squares"

/** 4 MiB: big enough to scan at memory speed, small enough to allocate at once. */
const BLOCK_FLOATS = 2 ** 20
/** Rows that fit a filter are gathered in pieces that stay in the processor's cache. */
const SCRATCH_FLOATS = 2 ** 17
/** Distances of the scan are 32-bit floats, so a few more than asked for are compared again in 64 bits. */
const SPARE = 16

export interface Candidate {
  readonly slot: number
  /** Smaller is nearer. */
  readonly distance: number
}

export interface Blocks {
  readonly length: number
  readonly bytes: number
  /** Takes a row at the end. */
  push(values: Float32Array): void
  /** Copies a row to a place in another array. */
  copy(slot: number, into: Float32Array, at: number): void
  /** In 64-bit floats, the same for a pair however it was found. */
  distance(query: Float32Array, slot: number): number
  /** At least the `k` nearest among those slots in `[from, to)` that are in `among`; all of them when it is undefined. */
  scan(query: Float32Array, k: number, from: number, to: number, among: Bits | undefined): Candidate[]
}

export const createBlocks = (dimension: number, kind: Distance): Blocks => {
  const metric = kind === "product" ? MetricKind.IP : MetricKind.L2sq
  const rowsMax = Math.max(16, Math.floor(BLOCK_FLOATS / dimension))
  const scratchRows = Math.max(16, Math.floor(SCRATCH_FLOATS / dimension))
  const blocks: Float32Array<ArrayBuffer>[] = []
  let length = 0
  let scratch: Float32Array<ArrayBuffer> | undefined

  const grow = () => {
    const last = blocks.at(-1)
    if (!last || last.length === rowsMax * dimension) {
      blocks.push(new Float32Array(dimension * (blocks.length === 0 ? Math.min(16, rowsMax) : rowsMax)))
      return
    }
    const grown = new Float32Array(Math.min(2 * last.length, rowsMax * dimension))
    grown.set(last)
    blocks[blocks.length - 1] = grown
  }

  /** The library reads the whole buffer below an array, so rows must begin where their buffer does. */
  const nearest = (rows: Float32Array, count: number, query: Float32Array, k: number) => {
    const { keys, distances } = exactSearch(
      rows.subarray(0, count * dimension),
      query,
      dimension,
      Math.min(k, count),
      metric,
      1,
    )
    return { keys, distances }
  }

  const scanWhole = (query: Float32Array, k: number, found: Candidate[], block: number, count: number) => {
    const { keys, distances } = nearest(blocks[block] ?? new Float32Array(0), count, query, k)
    keys.forEach((key, n) => {
      found.push({ slot: block * rowsMax + Number(key), distance: distances[n] ?? 0 })
    })
  }

  const copy: Blocks["copy"] = (slot, into, at) => {
    const start = (slot % rowsMax) * dimension
    const block = blocks[Math.floor(slot / rowsMax)]
    if (block) into.set(block.subarray(start, start + dimension), at)
  }

  const scanSome = (query: Float32Array, k: number, found: Candidate[], slots: readonly number[]) => {
    scratch ??= new Float32Array(scratchRows * dimension)
    const rows = scratch
    for (let from = 0; from < slots.length; from += scratchRows) {
      const part = slots.slice(from, from + scratchRows)
      part.forEach((slot, n) => {
        copy(slot, rows, n * dimension)
      })
      const { keys, distances } = nearest(rows, part.length, query, k)
      keys.forEach((key, n) => {
        found.push({ slot: part[Number(key)] ?? 0, distance: distances[n] ?? 0 })
      })
    }
  }

  return {
    get length() {
      return length
    },
    get bytes() {
      return blocks.reduce((sum, block) => sum + block.byteLength, 0)
    },
    push(values) {
      const start = (length % rowsMax) * dimension
      if (start === 0 ? Math.floor(length / rowsMax) === blocks.length : start === blocks.at(-1)?.length)
        grow()
      blocks.at(-1)?.set(values, start)
      length += 1
    },
    copy,
    distance(query, slot) {
      const block = blocks[Math.floor(slot / rowsMax)] ?? query
      const start = (slot % rowsMax) * dimension
      let sum = 0
      if (kind === "product") {
        for (let n = 0; n < dimension; n++) sum += (query[n] ?? 0) * (block[start + n] ?? 0)
        return -sum
      }
      for (let n = 0; n < dimension; n++) {
        const difference = (query[n] ?? 0) - (block[start + n] ?? 0)
        sum += difference * difference
      }
      return sum
    },
    scan(query, k, from, to, among) {
      // Its buffer may be shared with others, and the library reads from the beginning.
      const own = Float32Array.from(query)
      const found: Candidate[] = []
      for (let block = Math.floor(from / rowsMax); block * rowsMax < to; block++) {
        const first = Math.max(from, block * rowsMax)
        const end = Math.min(to, (block + 1) * rowsMax)
        if (!among && first === block * rowsMax) {
          scanWhole(own, k + SPARE, found, block, end - first)
          continue
        }
        const slots: number[] = []
        if (among) eachBit(among, first, end, slot => void slots.push(slot))
        else for (let slot = first; slot < end; slot++) slots.push(slot)
        scanSome(own, k + SPARE, found, slots)
      }
      found.sort((a, b) => a.distance - b.distance)
      return found.slice(0, k + SPARE)
    },
  }
}
