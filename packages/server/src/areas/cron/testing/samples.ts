/** Valid inputs of the operations of cron, for the tests that hold for every operation. */
import { uniqueName } from "../../../testing/platform.ts"
import type { Sample, SampleWorld } from "../../../testing/sample-world.ts"

const newSchedule = async ({ key }: SampleWorld) => {
  const target = { type: "http", url: "https://nowhere.invalid/" } as const
  return (await key.cron.create({ name: uniqueName(), interval_seconds: 3600, target })).id
}

/** One that waits for its next attempt: nobody answers at the schedule's target. */
const newExecution = async (world: SampleWorld) => {
  const id = await newSchedule(world)
  return { id, execution_id: (await world.key.cron.trigger({ id })).id }
}

export const samples = {
  "cron.create": async () => ({
    name: uniqueName(),
    cron: "0 3 * * *",
    target: { type: "http", url: "https://example.com/" },
  }),
  "cron.get": async world => ({ id: await newSchedule(world) }),
  "cron.replace": async world => ({
    id: await newSchedule(world),
    name: uniqueName(),
    interval_seconds: 7200,
    target: { type: "http", url: "https://example.com/" },
  }),
  "cron.update": async world => ({ id: await newSchedule(world), enabled: false }),
  "cron.delete": async world => ({ id: await newSchedule(world) }),
  "cron.executions": async world => ({ id: await newSchedule(world) }),
  "cron.trigger": async world => ({ id: await newSchedule(world) }),
  "cron.getExecution": newExecution,
  "cron.cancelExecution": newExecution,
} satisfies Readonly<Record<string, Sample>>
