import type { Family } from "../../kernel/metrics.ts"
import type { EnginePort } from "../../ports/engine/port.ts"

/** Figures of the area for `/metrics`. */
export interface Figures {
  woke(ms: number): void
  families(): readonly Family[]
}

/** Upper bounds of wake times in milliseconds: from an instance in the page cache to one that replays a long log. */
const BOUNDS_MS = [25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000] as const
const STATES = ["starting", "active", "stopping"] as const

export const createFigures = (engine: EnginePort): Figures => {
  const buckets = BOUNDS_MS.map(() => 0)
  let count = 0
  let totalMs = 0

  const wakes = (): readonly Family[] => [
    {
      name: "svc_database_wakes_total",
      type: "counter",
      help: "Times a database was started, by the time it took.",
      samples: [
        ...BOUNDS_MS.map((bound, at) => ({ labels: { within_ms: String(bound) }, value: buckets[at] ?? 0 })),
        { labels: { within_ms: "+Inf" }, value: count },
      ],
    },
    {
      name: "svc_database_wake_seconds_total",
      type: "counter",
      help: "Time that callers waited for databases to start.",
      samples: [{ value: totalMs / 1000 }],
    },
  ]

  return {
    woke(ms) {
      if (ms === 0) return
      count += 1
      totalMs += ms
      BOUNDS_MS.forEach((bound, at) => {
        if (ms <= bound) buckets[at] = (buckets[at] ?? 0) + 1
      })
    },

    families() {
      const running = engine.running()
      return [
        {
          name: "svc_database_instances",
          type: "gauge",
          help: "Database servers that are not at rest, by state.",
          samples: STATES.map(state => ({
            labels: { state },
            value: running.filter(instance => instance.state === state).length,
          })),
        },
        {
          name: "svc_database_unprotected_instances",
          type: "gauge",
          help: "Awake databases whose newest commits are not in their history yet.",
          samples: [{ value: running.filter(({ protection }) => protection === "asynchronous").length }],
        },
        {
          name: "svc_database_wal_lag_bytes",
          type: "gauge",
          help: "Most bytes of log that any awake database has not handed over to its history.",
          samples: [{ value: Math.max(0, ...running.map(({ walLagBytes }) => walLagBytes ?? 0)) }],
        },
        ...wakes(),
      ]
    },
  }
}
