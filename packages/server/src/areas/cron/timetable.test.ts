/** Times and zones, held against a second implementation. */
import assert from "node:assert/strict"
import { createRequire } from "node:module"
import { test } from "node:test"
import { CronExpressionParser } from "cron-parser"
import { cronTimes, isTimezone, type NextAfter, splitZone, timesAfter, timesOf } from "./timetable.ts"

const ZONES = [
  "America/New_York",
  "America/Santiago",
  "America/St_Johns",
  "Europe/London",
  "Europe/Berlin",
  "Europe/Dublin",
  "Africa/Casablanca",
  "Asia/Jerusalem",
  "Australia/Lord_Howe",
  "Pacific/Auckland",
] as const

/** At night, when clocks change, and through the day. */
const PATTERNS = [
  "30 0 * * *",
  "15 1 * * *",
  "30 1 * * *",
  "0 2 * * *",
  "30 2 * * *",
  "15 3 * * *",
  "0 12 * * 1-5",
  "0 * * * *",
  "*/20 * * * *",
  "*/15 2 * * *",
] as const

const FROM = Date.parse("2024-01-01T00:00:00Z")
const YEARS = 5
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const WEEK_MS = 7 * 24 * HOUR_MS
const UNTIL = Date.parse(`${2024 + YEARS}-01-01T00:00:00Z`)

/** When a zone's clock changes: never twice in a week. */
const changesOf = (zone: string): readonly number[] => {
  const format = new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "longOffset" })
  const offsetAt = (ms: number) => format.formatToParts(ms).find(({ type }) => type === "timeZoneName")?.value
  /** The first minute with the later offset; `fromMs` has the earlier one. */
  const halve = (fromMs: number, untilMs: number, later: string | undefined): number => {
    if (untilMs - fromMs <= MINUTE_MS) return untilMs
    const middle = fromMs + Math.floor((untilMs - fromMs) / 2 / MINUTE_MS) * MINUTE_MS
    return offsetAt(middle) === later ? halve(fromMs, middle, later) : halve(middle, untilMs, later)
  }
  const changes: number[] = []
  let before = offsetAt(FROM)
  for (let week = FROM; week < UNTIL; week += WEEK_MS) {
    const after = offsetAt(week + WEEK_MS)
    if (after !== before) changes.push(halve(week, week + WEEK_MS, after))
    before = after
  }
  return changes
}

/** On both sides of a change: what is further away another day, or for times of every hour another hour, shows as well. */
const reachOf = (pattern: string): number => (pattern.split(" ")[1] === "*" ? 6 : 36) * HOUR_MS

const between = (next: NextAfter, fromMs: number, untilMs: number): number[] => {
  const times: number[] = []
  for (let at = next(fromMs); at !== undefined && at < untilMs; at = next(at)) times.push(at)
  return times
}

interface Zone {
  readonly name: string
  offset(ms: number): number
}

/**
 * cron-parser has its library ask for offsets again and again, which is most of what this test costs. They change at
 * full quarters of an hour.
 */
const rememberOffsets = (): void => {
  const { IANAZone } = createRequire(import.meta.resolve("cron-parser"))("luxon") as {
    readonly IANAZone: { readonly prototype: Zone }
  }
  const { offset } = IANAZone.prototype
  const known = new Map<string, number>()
  IANAZone.prototype.offset = function (this: Zone, ms) {
    const name = `${this.name} ${Math.floor(ms / (15 * MINUTE_MS))}`
    const found = known.get(name) ?? offset.call(this, ms)
    known.set(name, found)
    return found
  }
}

const byTheOther = (pattern: string, tz: string, fromMs: number, untilMs: number): number[] => {
  const expression = CronExpressionParser.parse(pattern, { tz, currentDate: new Date(fromMs) })
  const times: number[] = []
  for (;;) {
    try {
      const at = expression.next().getTime()
      if (at >= untilMs) return times
      times.push(at)
    } catch {
      // It gives up on a time that its zone leaves out.
      return times
    }
  }
}

interface Difference {
  readonly zone: string
  readonly pattern: string
  /** Times of one alone. */
  readonly ours: readonly number[]
  readonly theirs: readonly number[]
}

const KNOWN: Readonly<Record<string, (difference: Difference) => boolean>> = {
  "cron-parser takes the half-hour changes of Lord Howe for whole hours": ({ zone }) =>
    zone === "Australia/Lord_Howe",
  "a single time in the gap: ours is the gap's end, cron-parser's as long after it as it would have been": ({
    ours,
    theirs,
    pattern,
  }) => {
    const minutes = Number(pattern.split(" ")[0])
    const [own, other] = [ours[0] ?? 0, theirs[0] ?? 0]
    return ours.length === 1 && theirs.length === 1 && other - own === minutes * MINUTE_MS
  },
  "steps within the hour of the gap: ours have none on that day, cron-parser's move into the hour after it":
    ({ ours, theirs, pattern }) => pattern === "*/15 2 * * *" && ours.length === 0 && theirs.length === 4,
  "steps within the hour that comes twice: ours follow real time, cron-parser's run in one of the two": ({
    ours,
    theirs,
    pattern,
  }) => pattern === "*/15 2 * * *" && ours.length === 4 && theirs.length === 0,
}

test("around every change of the clock of five years in ten zones, times are those of a second library, but for what is listed", () => {
  rememberOffsets()
  const used = new Set<string>()
  let changes = 0
  for (const zone of ZONES) {
    const changed = changesOf(zone)
    changes += changed.length
    for (const pattern of PATTERNS) {
      const next = cronTimes(pattern, zone)
      for (const at of changed) {
        const [fromMs, untilMs] = [at - reachOf(pattern), at + reachOf(pattern)]
        const ours = between(next, fromMs, untilMs)
        const theirs = byTheOther(pattern, zone, fromMs, untilMs)
        const difference = {
          ...{ zone, pattern },
          ours: ours.filter(at => !theirs.includes(at)),
          theirs: theirs.filter(at => !ours.includes(at)),
        }
        if (difference.ours.length + difference.theirs.length === 0) continue
        const reason = Object.keys(KNOWN).find(name => KNOWN[name]?.(difference))
        assert.ok(reason, `${zone} ${pattern}: ${isoOf(difference.ours)} not ${isoOf(difference.theirs)}`)
        used.add(reason)
      }
    }
  }
  assert.ok(changes >= 90, `${changes} changes`)
  assert.deepEqual([...used].sort(), Object.keys(KNOWN).sort(), "an explanation that explains nothing")
})

const isoOf = (times: readonly number[]) => times.map(at => new Date(at).toISOString())

const firstOf = (pattern: string, zone: string, from: string, count: number) =>
  isoOf(timesAfter(cronTimes(pattern, zone), Date.parse(from), count))

test("what the clock leaves out runs once at the gap's end, what it repeats runs at the first, and steps follow real time", () => {
  const zone = "Australia/Lord_Howe"
  assert.deepEqual(firstOf("15 2 * * *", zone, "2026-10-03T00:00:00Z", 2), [
    "2026-10-03T15:30:00.000Z",
    "2026-10-04T15:15:00.000Z",
  ])
  assert.deepEqual(firstOf("45 1 * * *", zone, "2026-04-04T00:00:00Z", 2), [
    "2026-04-04T14:45:00.000Z",
    "2026-04-05T15:15:00.000Z",
  ])
  assert.deepEqual(firstOf("5,25 2 * * *", zone, "2026-10-03T00:00:00Z", 2), [
    "2026-10-03T15:30:00.000Z",
    "2026-10-04T15:05:00.000Z",
  ])
  assert.deepEqual(firstOf("*/30 * * * *", "America/New_York", "2026-11-01T05:00:00Z", 4), [
    "2026-11-01T05:30:00.000Z",
    "2026-11-01T06:00:00.000Z",
    "2026-11-01T06:30:00.000Z",
    "2026-11-01T07:00:00.000Z",
  ])
})

test("seconds, names, L, W and # are known, and a zone may stand in front", () => {
  const of = (pattern: string) =>
    firstOf(pattern, "UTC", "2026-01-15T00:00:00Z", 2).map(at => at.slice(0, 19))
  assert.deepEqual(of("*/20 * * * * *"), ["2026-01-15T00:00:20", "2026-01-15T00:00:40"])
  assert.deepEqual(of("@daily"), ["2026-01-16T00:00:00", "2026-01-17T00:00:00"])
  assert.deepEqual(of("0 0 L * *"), ["2026-01-31T00:00:00", "2026-02-28T00:00:00"])
  assert.deepEqual(of("0 0 15W 2 *"), ["2026-02-16T00:00:00", "2027-02-15T00:00:00"])
  assert.deepEqual(of("0 0 * * MON#1"), ["2026-02-02T00:00:00", "2026-03-02T00:00:00"])
  for (const prefix of ["CRON_TZ", "TZ"]) {
    assert.deepEqual(splitZone(`${prefix}=Asia/Tokyo  0 9 * * *`), {
      cron: "0 9 * * *",
      timezone: "Asia/Tokyo",
    })
  }
  assert.deepEqual(splitZone("0 9 * * *"), { cron: "0 9 * * *", timezone: undefined })
  for (const [name, isOne] of [
    ["Europe/Berlin", true],
    ["UTC", true],
    ["Europe/Atlantis", false],
    ["+02:00", false],
    ["", false],
  ] as const) {
    assert.equal(isTimezone(name), isOne, name)
  }
})

test("an interval keeps its beat, and start and end bound it", () => {
  const timing = { cron: null, intervalSeconds: 90, runAtMs: null, timezone: "UTC", anchorMs: 1_000 }
  const free = timesOf({ ...timing, startMs: null, endMs: null })
  assert.deepEqual(timesAfter(free, 1_000, 3), [91_000, 181_000, 271_000])
  assert.equal(free(90_999), 91_000)
  assert.equal(free(91_000), 181_000)
  const bounded = timesOf({ ...timing, startMs: 1_000, endMs: 91_000 })
  assert.deepEqual(timesAfter(bounded, 0, 9), [1_000, 91_000])
})
