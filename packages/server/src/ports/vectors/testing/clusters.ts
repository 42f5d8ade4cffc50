/** Vectors in clusters, as embeddings are, with metadata that selects a tenth, a hundredth and a thousandth of them. */

export interface Clusters {
  readonly rows: readonly Float32Array<ArrayBuffer>[]
  readonly metadata: readonly Readonly<Record<string, number>>[]
  /** A new vector near one of the clusters, as a question would be. */
  question(): Float32Array<ArrayBuffer>
}

/** A small generator with a fixed seed (mulberry32), so that every run sees the same vectors. */
export const randomFrom = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export const makeClusters = (size: number, dimension: number, clusters: number, seed = 1): Clusters => {
  const random = randomFrom(seed)
  // Box and Muller's transform of two even numbers to one of the normal distribution.
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const centers = Array.from({ length: clusters }, () => Float32Array.from({ length: dimension }, normal))
  const near = (cluster: number) => Float32Array.from(centers[cluster] ?? [], value => value + 0.6 * normal())
  const places = Array.from({ length: size }, () => Math.floor(random() * clusters))
  return {
    rows: places.map(near),
    metadata: places.map((cluster, n) => ({
      cluster,
      tenth: n % 10,
      hundredth: n % 100,
      thousandth: n % 1000,
    })),
    question: () => near(Math.floor(random() * clusters)),
  }
}

/** Filters by the share of vectors that they leave. */
export const SELECTIONS = {
  "100": undefined,
  "10": { kind: "in", path: "tenth", values: [3] },
  "1": { kind: "in", path: "hundredth", values: [3] },
  "0.1": { kind: "in", path: "thousandth", values: [3] },
} as const
