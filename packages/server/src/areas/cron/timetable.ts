import { Cron } from "croner"

/** What says when a schedule runs; exactly one of the first three is there. Times in milliseconds since the epoch. */
export interface Timing {
  readonly cron: string | null
  readonly intervalSeconds: number | null
  readonly runAtMs: number | null
  readonly timezone: string
  /** Intervals are counted from here. */
  readonly anchorMs: number
  readonly startMs: number | null
  readonly endMs: number | null
}

/** The first time after another one; undefined when there is none. */
export type NextAfter = (afterMs: number) => number | undefined

/**
 * `no-wildcard`: also a list or range of times in the gap of a change of the clock runs once at the gap's end, and each
 * that comes twice runs at the first. Patterns with `*` or steps follow real time.
 */
const OPTIONS = { paused: true, mode: "5-or-6-parts", fixedTimeRule: "no-wildcard" } as const

const PREFIX = /^\s*(?:CRON_TZ|TZ)=(\S+)\s+/

/** An expression without the zone that may stand in front of it, as QStash (`CRON_TZ=`) and Inngest (`TZ=`) write it. */
export const splitZone = (expression: string): { cron: string; timezone: string | undefined } => {
  const [prefix = "", timezone] = PREFIX.exec(expression) ?? []
  return { cron: expression.slice(prefix.length).trim(), timezone }
}

export const isTimezone = (name: string): boolean => {
  // Offsets would be zones to some parsers and not to others.
  if (/^[+-]/.test(name)) return false
  try {
    new Intl.DateTimeFormat("en", { timeZone: name })
    return true
  } catch {
    return false
  }
}

/** The times of an expression. Throws the parser's error for one that it does not understand. */
export const cronTimes = (expression: string, timezone: string): NextAfter => {
  const pattern = new Cron(expression, { ...OPTIONS, timezone })
  return afterMs => pattern.nextRun(new Date(afterMs))?.getTime()
}

const bareTimes = ({ cron, intervalSeconds, runAtMs, timezone, anchorMs }: Timing): NextAfter => {
  if (cron !== null) return cronTimes(cron, timezone)
  if (runAtMs !== null) return afterMs => (runAtMs > afterMs ? runAtMs : undefined)
  const everyMs = (intervalSeconds ?? 0) * 1_000
  return afterMs => {
    const passed = Math.floor((afterMs - anchorMs) / everyMs)
    return anchorMs + Math.max(0, passed + 1) * everyMs
  }
}

/** The times of a schedule between its start and its end. */
export const timesOf = (timing: Timing): NextAfter => {
  const next = bareTimes(timing)
  const { startMs, endMs } = timing
  return afterMs => {
    // A time that equals the start counts.
    const at = next(startMs === null ? afterMs : Math.max(afterMs, startMs - 1))
    return at === undefined || (endMs !== null && at > endMs) ? undefined : at
  }
}

export const timesAfter = (next: NextAfter, afterMs: number, count: number): number[] => {
  const times: number[] = []
  while (times.length < count) {
    const at = next(times.at(-1) ?? afterMs)
    if (at === undefined) break
    times.push(at)
  }
  return times
}
