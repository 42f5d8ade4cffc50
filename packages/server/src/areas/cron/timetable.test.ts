/** Times and zones, held against a second implementation. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { CronExpressionParser } from "cron-parser"
import { cronTimes, isTimezone, splitZone, timesOf } from "./timetable.ts"

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
  "0 0 * * *",
  "30 0 * * *",
  "15 1 * * *",
  "30 1 * * *",
  "0 2 * * *",
  "30 2 * * *",
  "15 3 * * *",
  "0 12 * * 1-5",
  "0 3 1 * *",
  "0 4 L * *",
  "0 5 * * 1#2",
  "0 * * * *",
  "*/20 * * * *",
  "*/15 2 * * *",
] as const

const FROM = Date.parse("2024-01-01T00:00:00Z")
const YEARS = 5
const UNTIL = Date.parse(`${2024 + YEARS}-01-01T00:00:00Z`)

/** Times around the changes of the clock only: between them nothing happens that another day would not show. */
const around = (zone: string): readonly (readonly [number, number])[] => {
  const offsetAt = (ms: number) =>
    new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "longOffset" })
      .formatToParts(ms)
      .find(({ type }) => type === "timeZoneName")?.value
  const days: (readonly [number, number])[] = []
  for (let day = FROM; day < UNTIL; day += 86_400_000) {
    if (offsetAt(day) !== offsetAt(day + 86_400_000)) days.push([day - 86_400_000, day + 2 * 86_400_000])
  }
  return days
}

const between = (pattern: string, zone: string, fromMs: number, untilMs: number): number[] => {
  const next = cronTimes(pattern, zone)
  const times: number[] = []
  for (let at = next(fromMs); at !== undefined && at < untilMs; at = next(at)) times.push(at)
  return times
}

const byTheOther = (pattern: string, tz: string, fromMs: number, untilMs: number): number[] => {
  const options = { tz, currentDate: new Date(fromMs), endDate: new Date(untilMs - 1) }
  const expression = CronExpressionParser.parse(pattern, options)
  const times: number[] = []
  while (expression.hasNext()) times.push(expression.next().getTime())
  return times
}

const isoOf = (times: readonly number[]) => times.map(at => new Date(at).toISOString())

test("around every change of the clock of five years in ten zones, times are those of a second library, but for what is listed", () => {
  const differences: string[] = []
  let changes = 0
  for (const zone of ZONES) {
    const windows = around(zone)
    changes += windows.length
    for (const pattern of PATTERNS) {
      for (const [fromMs, untilMs] of windows) {
        const ours = between(pattern, zone, fromMs, untilMs)
        const theirs = byTheOther(pattern, zone, fromMs, untilMs)
        if (isoOf(ours).join() === isoOf(theirs).join()) continue
        differences.push(`${zone} ${pattern} ours ${isoOf(ours.filter(at => !theirs.includes(at)))} theirs ${isoOf(theirs.filter(at => !ours.includes(at)))}`)
      }
    }
  }
  assert.ok(changes >= 90, `${changes} changes`)
  console.log(JSON.stringify(differences)); assert.deepEqual(differences.length, 0)
})
