import { createBoundedCache } from "../../kernel/bounded-cache.ts"

/** How long documents took from their reading until they could be found, as this process saw it lately. */
export interface Freshness {
  note(projectId: string, documents: number, ms: number): void
  /** Milliseconds; null when nothing was indexed. */
  p95(projectId: string): number | null
}

const PROJECTS_MAX = 1_000
const SAMPLES_MAX = 256
/** Documents of one write count at most so often: each took the same time. */
const WEIGHT_MAX = 16

export const createFreshness = (): Freshness => {
  const samples = createBoundedCache<number[]>(PROJECTS_MAX)
  return {
    note(projectId, documents, ms) {
      const own = samples.get(projectId) ?? []
      for (let n = 0; n < Math.min(documents, WEIGHT_MAX); n++) own.push(ms)
      samples.set(projectId, own.slice(-SAMPLES_MAX))
    },
    p95(projectId) {
      const sorted = [...(samples.get(projectId) ?? [])].sort((a, b) => a - b)
      return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? null
    },
  }
}
