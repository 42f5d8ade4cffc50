import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { glob } from "node:fs/promises"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { pino } from "pino"
import { createTestClock } from "../testing/clock.ts"
import { at, every, stopAll } from "./every.ts"

const createLogLines = () => {
  const lines: { readonly level: string; readonly msg: string }[] = []
  const log = pino({ level: "info" }, { write: (line: string) => lines.push(JSON.parse(line)) })
  return { log, messages: () => lines.map(({ msg }) => msg) }
}

test("a run never overlaps the one before, whoever turns the clock", async () => {
  const clock = createTestClock()
  const first = Promise.withResolvers<void>()
  let runs = 0
  await using _work = every(clock, 10, () => {
    runs += 1
    return first.promise
  })
  const advancing = [clock.advance(10), clock.advance(10), clock.advance(10)]
  assert.equal(runs, 1)
  first.resolve()
  await Promise.all(advancing)
  await clock.advance(100)
  assert.ok(runs > 1)
})

test("a failure is logged once until it changes, and so is its end", async () => {
  const clock = createTestClock()
  const { log, messages } = createLogLines()
  const outcomes = ["full", "full", "full", "gone", undefined, undefined, "full"]
  const run = async () => {
    const reason = outcomes.shift()
    if (reason) throw new Error(reason)
  }
  await using _work = every(clock, 10, run, { log, failure: "writing failed; will retry" })
  for (let round = 0; round < 7; round++) await clock.advance(10)
  const failed = "writing failed; will retry"
  assert.deepEqual(messages(), [failed, failed, "periodic work that had failed succeeded", failed])
})

test("stopping waits for the run under way, and nothing runs afterwards", async () => {
  const clock = createTestClock()
  const going = Promise.withResolvers<void>()
  let runs = 0
  const work = every(clock, 10, () => {
    runs += 1
    return going.promise
  })
  void clock.advance(10)
  let isStopped = false
  const stopping = work[Symbol.asyncDispose]().then(() => {
    isStopped = true
  })
  await new Promise(setImmediate)
  assert.equal(isStopped, false)
  going.resolve()
  await stopping
  await clock.advance(100)
  assert.equal(runs, 1)
})

test("several are stopped together: none begins a run while another ends", async () => {
  const clock = createTestClock()
  const going = Promise.withResolvers<void>()
  let runs = 0
  const slow = every(clock, 10, () => going.promise)
  const other = every(clock, 15, () => {
    runs += 1
  })
  void clock.advance(10)
  const stopping = stopAll([slow, other])
  going.resolve()
  await clock.advance(100)
  await stopping
  assert.equal(runs, 0)
})

test("what runs at a time runs once, and not when it was called off", async () => {
  const clock = createTestClock()
  let runs = 0
  at(clock, clock.now() + 10, () => {
    runs += 1
  })
  at(clock, clock.now() + 10, () => {
    runs += 1
  })[Symbol.dispose]()
  await clock.advance(100)
  assert.equal(runs, 1)
})

/** Files that may ask a clock themselves, with the reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = { "kernel/every.ts": "it is the one form" }

test("periodic work goes through `every`: no other file asks a clock itself", async () => {
  const root = fileURLToPath(new URL("../", import.meta.url))
  const found: string[] = []
  for await (const file of glob("**/*.ts", { cwd: root }))
    if (!file.endsWith(".test.ts") && /\bclock\s*\??\.every\(/.test(readFileSync(root + file, "utf8")))
      found.push(file.replaceAll("\\", "/"))
  assert.deepEqual(found.sort(), Object.keys(EXCEPTIONS).sort())
})
