/** How requests are answered: counted by ten seconds, with a histogram whose steps are 12 %. */
import type { Noted } from "../../services/serving/routing.ts"
import type { FiguresRow } from "./instance-store.ts"

export const SLICE_MS = 10_000
const FIRST_MS = 0.5
const GROWTH = 1.12
/** The last begins at about an hour. */
const BUCKETS = 140

const bucketOf = (ms: number): number =>
  Math.max(
    0,
    Math.min(BUCKETS - 1, Math.ceil(Math.log(Math.max(ms, FIRST_MS) / FIRST_MS) / Math.log(GROWTH))),
  )

/** The middle of a bucket, so that the error is at most half of its width. */
const middleOf = (bucket: number): number =>
  bucket === 0 ? FIRST_MS : (FIRST_MS * GROWTH ** bucket * (1 + 1 / GROWTH)) / 2

interface Slice {
  readonly organizationId: string
  readonly serviceId: string
  readonly atMs: number
  readonly latencies: number[]
  requests: number
  errors: number
  isNew: boolean
}

/** What this process answered; `take` gives the slices that have changed since. */
export const createFigures = (nowMs: () => number) => {
  const slices = new Map<string, Slice>()

  return {
    note({ serviceId, organizationId, status, ms }: Noted) {
      const atMs = Math.floor(nowMs() / SLICE_MS) * SLICE_MS
      const known = slices.get(serviceId)
      const isCurrent = known?.atMs === atMs
      const key = isCurrent || !known ? serviceId : `${serviceId} ${known.atMs}`
      // The one before is still to be written.
      if (known && !isCurrent) slices.set(key, known)
      const slice: Slice =
        known && isCurrent
          ? known
          : {
              organizationId,
              serviceId,
              atMs,
              latencies: Array(BUCKETS).fill(0),
              requests: 0,
              errors: 0,
              isNew: true,
            }
      slices.set(serviceId, slice)
      slice.requests += 1
      slice.isNew = true
      if (status < 0 || status >= 500) slice.errors += 1
      const bucket = bucketOf(ms)
      slice.latencies[bucket] = (slice.latencies[bucket] ?? 0) + 1
    },
    take(hostId: string): FiguresRow[] {
      const rows: FiguresRow[] = []
      const currentMs = Math.floor(nowMs() / SLICE_MS) * SLICE_MS
      for (const [key, slice] of slices) {
        if (slice.isNew)
          rows.push({
            ...{ organization_id: slice.organizationId, service_id: slice.serviceId, host_id: hostId },
            ...{ at: new Date(slice.atMs), requests: slice.requests, errors: slice.errors },
            latencies: [...slice.latencies],
          })
        slice.isNew = false
        if (slice.atMs < currentMs) slices.delete(key)
      }
      return rows
    },
  }
}
export type Figures = ReturnType<typeof createFigures>

const percentile = (latencies: readonly number[], total: number, part: number): number | null => {
  let sum = 0
  for (const [bucket, count] of latencies.entries()) {
    sum += count
    if (total > 0 && sum >= total * part) return Math.round(middleOf(bucket) * 100) / 100
  }
  return null
}

export const summarize = (rows: readonly FiguresRow[], windowSeconds: number) => {
  const requests = rows.reduce((sum, row) => sum + row.requests, 0)
  const errors = rows.reduce((sum, row) => sum + row.errors, 0)
  const latencies = Array.from({ length: BUCKETS }, (_, bucket) =>
    rows.reduce((sum, row) => sum + (row.latencies[bucket] ?? 0), 0),
  )
  const perSecond = (count: number) => Math.round((count / windowSeconds) * 1_000) / 1_000
  return {
    ...{ available: true, message: null, window_seconds: windowSeconds, requests },
    ...{ requests_per_second: perSecond(requests), errors_per_second: perSecond(errors) },
    latency_ms: {
      p50: percentile(latencies, requests, 0.5),
      p95: percentile(latencies, requests, 0.95),
      p99: percentile(latencies, requests, 0.99),
    },
  }
}
