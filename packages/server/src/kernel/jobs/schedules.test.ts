import assert from "node:assert/strict"
import { test } from "node:test"
import fc from "fast-check"
import { eventually } from "../../testing/eventually.ts"
import type { ScheduleDefinition } from "./jobs.ts"
import { nextTick } from "./schedules.ts"
import { type Worker, world } from "./testing/world.ts"

const HOUR_MS = 3_600_000
const NAME = "test.tick"

test("a tick runs once, however many processes have the schedule", async t => {
  const { clock, startSchedule } = await world(t)
  const ticks: number[] = []
  const schedule: ScheduleDefinition = {
    name: NAME,
    every: HOUR_MS,
    run: async ({ scheduledFor }) => void ticks.push(scheduledFor.getTime()),
  }
  const startMs = clock.now()
  const worker = await startSchedule(schedule)
  for (let n = 0; n < 2; n++) await startSchedule(schedule)
  for (let n = 1; n <= 3; n++) {
    await clock.advance(HOUR_MS)
    await eventually("the tick has run", () => ticks.length >= n)
    await eventually("the next is set", async () => (await nextOf(worker)) === startMs + (n + 1) * HOUR_MS)
  }
  assert.deepEqual(
    ticks,
    [1, 2, 3].map(n => startMs + n * HOUR_MS),
  )
})

test("a restart neither repeats nor puts off a tick, and what was missed meanwhile is made up for once or not at all", async t => {
  for (const missed of ["once", "skip"] as const) {
    const { clock, startSchedule } = await world(t)
    const ticks: string[] = []
    const schedule = (process: string): ScheduleDefinition => ({
      ...{ name: NAME, every: HOUR_MS, missed },
      run: async ({ scheduledFor }) =>
        void ticks.push(`${process} ${(scheduledFor.getTime() - startMs) / HOUR_MS}`),
    })
    const startMs = clock.now()
    const first = await startSchedule(schedule("first"))
    await clock.advance(HOUR_MS)
    await eventually("it has run", () => ticks.length === 1)
    await eventually("the next is set", async () => (await nextOf(first)) === startMs + 2 * HOUR_MS)
    await first.running.drain(10_000)
    await clock.advance(3.5 * HOUR_MS)
    const second = await startSchedule(schedule("second"))
    await eventually("the next is set", async () => (await nextOf(second)) === startMs + 5 * HOUR_MS)
    assert.deepEqual(ticks, missed === "once" ? ["first 1", "second 2"] : ["first 1"])
    await clock.advance(HOUR_MS)
    await eventually("the fifth has run", () => ticks.at(-1) === "second 5")
  }
})

test("a tick that fails is repeated and then given up, and the next one comes all the same", async t => {
  const { clock, startSchedule } = await world(t)
  const attempts: number[] = []
  const startMs = clock.now()
  const worker = await startSchedule({
    name: NAME,
    every: HOUR_MS,
    retries: [10_000],
    async run({ scheduledFor }) {
      attempts.push((scheduledFor.getTime() - startMs) / HOUR_MS)
      throw new Error("never")
    },
  })
  await clock.advance(HOUR_MS)
  await eventually("it is given up", async () => {
    await clock.advance(1_000)
    return (await nextOf(worker)) === startMs + 2 * HOUR_MS
  })
  assert.deepEqual(attempts, [1, 1])
  await clock.advance(HOUR_MS)
  await eventually("the next has begun", () => attempts.at(-1) === 2)
  const { rows } = await worker.database.pool.query("SELECT FROM kernel.dead_jobs")
  assert.deepEqual(rows, [])
})

test("a function of time sets the ticks until it names no more; a denser schedule takes effect at the next start", async t => {
  const { clock, startSchedule } = await world(t)
  const ticks: number[] = []
  const startMs = clock.now()
  const planned = [5 * HOUR_MS, 6 * HOUR_MS].map(ms => new Date(startMs + ms))
  const run: ScheduleDefinition["run"] = async ({ scheduledFor }) =>
    void ticks.push((scheduledFor.getTime() - startMs) / HOUR_MS)

  const first = await startSchedule({ name: NAME, every: 100 * HOUR_MS, run })
  await first.running.drain(10_000)
  const second = await startSchedule({ name: NAME, every: after => planned.find(at => at > after), run })
  assert.equal(await nextOf(second), startMs + 5 * HOUR_MS)
  await clock.advance(5 * HOUR_MS)
  await eventually("one has run", async () => (await nextOf(second)) === startMs + 6 * HOUR_MS)
  await clock.advance(HOUR_MS)
  await eventually("there are no more", async () => (await nextOf(second)) === undefined)
  assert.deepEqual(ticks, [5, 6])
})

test("the next tick of an interval lies after now, by less than one interval, in step with the first", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1_000, max: 1e9 }),
      fc.integer({ min: 0, max: 1e12 }),
      fc.integer({ min: 0, max: 1e12 }),
      (every, due, late) => {
        const next = nextTick(every, new Date(due), new Date(due + late))?.getTime() ?? 0
        assert.ok(next > due + late && next <= due + late + every)
        assert.equal((next - due) % every, 0)
      },
    ),
  )
})

const nextOf = async ({ database }: Worker): Promise<number | undefined> => {
  const { rows } = await database.pool.query(
    "SELECT due_at FROM kernel.jobs WHERE queue = $1 AND state = 'scheduled'",
    [NAME],
  )
  return rows[0]?.due_at.getTime()
}
