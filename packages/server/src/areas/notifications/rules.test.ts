import assert from "node:assert/strict"
import { test } from "node:test"
import { CronDate } from "cron-parser"
import fc from "fast-check"
import { decide, isActionUrl, isQuiet, isWanted, NO_PREFERENCES, quietHoursProblem } from "./rules.ts"

const hours = (start: string, end: string, timezone: string) => ({
  ...{ start, end, timezone },
  min_priority: "urgent" as const,
})

test("quiet hours are those of the recipient's wall clock, across midnight and both changes of the clock", () => {
  const berlin = hours("22:00", "07:00", "Europe/Berlin")
  const table: readonly [string, ReturnType<typeof hours>, boolean][] = [
    ["2026-01-10T20:59:59Z", berlin, false],
    ["2026-01-10T21:00:00Z", berlin, true],
    ["2026-01-11T05:59:59Z", berlin, true],
    ["2026-01-11T06:00:00Z", berlin, false],
    // Summer time: the same wall clock is an hour earlier.
    ["2026-07-10T19:59:59Z", berlin, false],
    ["2026-07-10T20:00:00Z", berlin, true],
    ["2026-07-11T05:00:00Z", berlin, false],
    // The night of the change to summer time (02:00 to 03:00 is left out) and back (02:00 to 03:00 twice).
    ["2026-03-29T00:59:59Z", hours("02:00", "03:00", "Europe/Berlin"), false],
    ["2026-03-29T01:00:00Z", hours("02:00", "03:00", "Europe/Berlin"), false],
    ["2026-10-25T00:30:00Z", hours("02:00", "03:00", "Europe/Berlin"), true],
    ["2026-10-25T01:30:00Z", hours("02:00", "03:00", "Europe/Berlin"), true],
    ["2026-10-25T02:00:00Z", hours("02:00", "03:00", "Europe/Berlin"), false],
    // Within a day.
    ["2026-05-05T12:00:00Z", hours("12:00", "13:00", "UTC"), true],
    ["2026-05-05T13:00:00Z", hours("12:00", "13:00", "UTC"), false],
    // A zone of half hours, and one where midnight itself is left out some years.
    ["2026-05-05T16:29:59Z", hours("22:00", "06:00", "Asia/Kolkata"), false],
    ["2026-05-05T16:30:00Z", hours("22:00", "06:00", "Asia/Kolkata"), true],
    ["2026-05-05T00:00:00Z", hours("00:00", "00:01", "UTC"), true],
  ]
  for (const [at, quiet, expected] of table)
    assert.equal(
      isQuiet(quiet, new Date(at)),
      expected,
      `${at} ${quiet.start}-${quiet.end} ${quiet.timezone}`,
    )
})

test("a second library reads the wall clock the same, in ten zones at any moment", () => {
  const zones = [
    ...["Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Asia/Kolkata", "Asia/Tokyo"],
    ...["Australia/Lord_Howe", "Africa/Cairo", "Pacific/Apia", "America/St_Johns", "Asia/Kathmandu"],
  ]
  const time = fc
    .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
    .map(parts => parts.map(part => String(part).padStart(2, "0")).join(":"))
  const moment = fc.date({
    min: new Date("2024-01-01"),
    max: new Date("2029-01-01"),
    noInvalidDate: true,
  })
  fc.assert(
    fc.property(time, time, fc.constantFrom(...zones), moment, (start, end, zone, at) => {
      fc.pre(start !== end)
      const clock = new CronDate(at, zone)
      const local = [clock.getHours(), clock.getMinutes()]
        .map(part => String(part).padStart(2, "0"))
        .join(":")
      const expected = start < end ? local >= start && local < end : local >= start || local < end
      assert.equal(isQuiet(hours(start, end, zone), at), expected)
    }),
    { numRuns: 2_000 },
  )
})

test("what is said of a type counts before its category, and that before the channel", () => {
  const preferences = {
    ...NO_PREFERENCES,
    channel_types: { push: false },
    categories: { builds: { push: true, in_app: false }, ads: false },
    types: { "build.failed": { in_app: true }, "ad.best": true },
  }
  const wanted = (type: string | null, category: string | null, channel: "in_app" | "push" | "email") =>
    isWanted(preferences, { type, category, priority: "default" }, channel)
  assert.equal(wanted(null, null, "push"), false)
  assert.equal(wanted(null, null, "email"), true)
  assert.equal(wanted("build.queued", "builds", "push"), true)
  assert.equal(wanted("build.queued", "builds", "in_app"), false)
  assert.equal(wanted("build.failed", "builds", "in_app"), true)
  assert.equal(wanted("build.failed", "builds", "push"), true)
  assert.equal(wanted("ad.worst", "ads", "in_app"), false)
  assert.equal(wanted("ad.best", "ads", "push"), true)
  // Names of what every object has are names like others.
  assert.equal(wanted("constructor", "toString", "in_app"), true)
})

test("quiet hours hold back pushes below their priority, and never the inbox", () => {
  const preferences = { ...NO_PREFERENCES, quiet_hours: hours("22:00", "07:00", "UTC") }
  const night = new Date("2026-01-01T23:00:00Z")
  const verdict = (priority: "high" | "urgent", channel: "in_app" | "push") =>
    decide(preferences, { type: null, category: null, priority }, channel, night)
  assert.equal(verdict("high", "push"), "skipped_quiet_hours")
  assert.equal(verdict("urgent", "push"), "send")
  assert.equal(verdict("high", "in_app"), "send")
})

test("quiet hours that cannot be are refused", () => {
  assert.match(quietHoursProblem(hours("22:00", "07:00", "Mars/Olympus")) ?? "", /no time zone/)
  assert.match(quietHoursProblem(hours("22:00", "22:00", "UTC")) ?? "", /different times/)
  assert.equal(quietHoursProblem(hours("22:00", "07:00", "Europe/Berlin")), undefined)
})

test("an action leads to the web or into the app, and runs nothing", () => {
  for (const good of ["https://example.com/a?b", "http://localhost:3000/", "/builds/42", "/"])
    assert.ok(isActionUrl(good), good)
  for (const bad of [
    "javascript:alert(1)",
    " javascript:alert(1)",
    "data:text/html,x",
    "//evil",
    "/\\evil",
    "builds",
    "file:///etc",
  ])
    assert.ok(!isActionUrl(bad), bad)
})
