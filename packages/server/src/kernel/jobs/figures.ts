import { sql } from "kysely"
import type { Db } from "../db/database.ts"
import type { Family, Sample } from "../metrics.ts"
import type { Runner } from "./runner.ts"

/** Counting ends here, so that reading the metrics costs the same with any backlog. */
const COUNTED_MAX = 100_000

interface Backlog {
  readonly queue: string
  readonly waiting: number
  readonly running: number
  readonly dead: number
  readonly oldest: Date | null
}

const readBacklogs = async (db: Db, queues: readonly string[], now: Date): Promise<readonly Backlog[]> => {
  const { rows } = await sql<Backlog>`
    SELECT q.name AS queue, ready.count + later.count + held.count AS waiting, running.count AS running,
      dead.count AS dead, ready.oldest AS oldest
    FROM unnest(${queues}::text[]) AS q (name),
    LATERAL (SELECT count(*), min(run_at) AS oldest FROM (
      SELECT run_at FROM kernel.jobs WHERE queue = q.name AND (state = 'ready' OR state = 'scheduled' AND run_at <= ${now})
      LIMIT ${COUNTED_MAX}) r) AS ready,
    LATERAL (SELECT count(*) FROM (
      SELECT FROM kernel.jobs WHERE queue = q.name AND state = 'scheduled' AND run_at > ${now}
      LIMIT ${COUNTED_MAX}) s) AS later,
    LATERAL (SELECT count(*) FROM (
      SELECT FROM kernel.jobs WHERE queue = q.name AND (state = 'held' OR state = 'arriving')
      LIMIT ${COUNTED_MAX}) h) AS held,
    LATERAL (SELECT count(*) FROM kernel.jobs WHERE queue = q.name AND state = 'running') AS running,
    LATERAL (SELECT count(*) FROM (
      SELECT FROM kernel.dead_jobs WHERE queue = q.name LIMIT ${COUNTED_MAX}) d) AS dead`.execute(db)
  return rows
}

/** What the metrics say of jobs. The backlog is everybody's, what has run is this process's. */
export const jobFigures = async (db: Db, nowMs: number, runners: readonly Runner[]): Promise<Family[]> => {
  const names = runners.map(({ queue }) => queue.name)
  // A database that does not answer must not take the other metrics with it.
  const backlogs = await readBacklogs(db, names, new Date(nowMs)).catch(() => [])
  const gauge = (name: string, help: string, value: (backlog: Backlog) => number): Family => ({
    ...{ name, help, type: "gauge" },
    samples: backlogs.map(backlog => ({ labels: { queue: backlog.queue }, value: value(backlog) })),
  })
  const perRunner = (sample: (runner: Runner) => readonly Sample[]) => runners.flatMap(sample)
  return [
    gauge("svc_jobs_pending", "Jobs that wait; counted up to 100,000 of a kind.", ({ waiting }) => waiting),
    gauge("svc_jobs_running", "Jobs that some process runs.", ({ running }) => running),
    gauge("svc_jobs_dead_lettered", "Dead letters; counted up to 100,000.", ({ dead }) => dead),
    gauge("svc_jobs_oldest_seconds", "How long the oldest job that could run has waited.", ({ oldest }) =>
      oldest ? Math.max(0, nowMs - oldest.getTime()) / 1000 : 0,
    ),
    {
      name: "svc_jobs_finished_total",
      type: "counter",
      help: "Attempts that this process has ended, by what became of the job.",
      samples: perRunner(({ queue, figures }) =>
        Object.entries(figures().counts).map(([outcome, value]) => ({
          labels: { queue: queue.name, outcome },
          value,
        })),
      ),
    },
    {
      name: "svc_jobs_run_seconds_total",
      type: "counter",
      help: "Time that this process's attempts took.",
      samples: perRunner(({ queue, figures }) => [
        { labels: { queue: queue.name }, value: figures().runSeconds },
      ]),
    },
  ]
}
