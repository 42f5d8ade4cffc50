/** The real process, killed in the middle of a run. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { createSvc } from "@svc/sdk"
import { eventually } from "../../testing/eventually.ts"
import { readFirstRun, spawnSvc } from "../../testing/process.ts"
import { answer, hang, startReceiver } from "../../testing/receiver.ts"
import { LOCAL } from "./testing/settled.ts"

test("what a killed process ran is run again where it may be, failed where not, and no time is run twice", async t => {
  const receiver = await startReceiver(t)
  receiver.script(hang)
  const first = spawnSvc(t, { env: LOCAL })
  const baseUrl = await first.ready
  const { api_key: apiKey } = readFirstRun(first.dataDir)
  const before = createSvc({ apiKey, baseUrl })
  const of = (name: string, max_retries: number) =>
    before.cron.create({
      name,
      // Still to come when it is read, on a busy machine too.
      run_at: new Date(Date.now() + 10_000).toISOString(),
      max_retries,
      timeout_seconds: 900,
      target: { type: "http", url: receiver.url },
    })
  const [repeated, once] = [await of("repeated", 1), await of("once", 0)]
  await receiver.received(2)
  first.signal("SIGKILL")
  await first.exited
  receiver.script(answer(200))
  const second = spawnSvc(t, { dataDir: first.dataDir, env: LOCAL })
  const svc = createSvc({ apiKey, baseUrl: await second.ready })
  const shape = async (id: string) =>
    (await svc.cron.executions({ id })).data.map(({ status, attempt }) => [status, attempt])
  await eventually("both have ended", async () => {
    const all = [...(await shape(repeated.id)), ...(await shape(once.id))]
    return all.every(([status]) => status !== "running" && status !== "queued")
  })
  assert.deepEqual(await shape(repeated.id), [["succeeded", 2]])
  assert.deepEqual(await shape(once.id), [["failed", 2]])
  assert.equal(receiver.requests.length, 3)
  const schedules = (await svc.cron.list({})).data
  assert.deepEqual(schedules.map(({ name, status }) => [name, status]).sort(), [
    ["once", "completed"],
    ["repeated", "completed"],
  ])
})
