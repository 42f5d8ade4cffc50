import assert from "node:assert/strict"
import { test } from "node:test"
import { setTimeout as delay } from "node:timers/promises"
import { listenForChanges } from "../../kernel/db/changes.ts"
import { openDatabase } from "../../kernel/db/database.ts"
import { createDatabaseFanout } from "../../kernel/db/fanout.ts"
import { newId } from "../../kernel/id.ts"
import type { Jobs } from "../../kernel/jobs/jobs.ts"
import { createLog } from "../../kernel/log.ts"
import type { Outbound } from "../../kernel/outbound/outbound.ts"
import { createTestClock } from "../../testing/clock.ts"
import { cloneDatabase } from "../../testing/database.ts"
import { createAtRest } from "../secrets/at-rest.ts"
import type { SecretBox } from "../secrets/secret-box.ts"
import { openDeliveries } from "./open.ts"

const UNTIL_MS_MAX = 30_000

test("a process that has drained keeps no endpoint, however long its end takes", async t => {
  const { url: connectionString, ...cloned } = await cloneDatabase()
  const stack = new AsyncDisposableStack()
  t.after(() => stack.disposeAsync())
  stack.use(cloned)
  const log = createLog("silent")
  const clock = createTestClock()
  const database = stack.use(openDatabase({ connectionString, connectionsMax: 4, onError: () => undefined }))
  const changes = stack.use(await listenForChanges(connectionString, log))
  const { deliveries, ...running } = stack.use(
    openDeliveries({
      ...{
        database,
        changes,
        fanout: createDatabaseFanout(database.db, changes),
        clock,
        log,
        delayFactor: 1,
        atRest: createAtRest({} as SecretBox, false),
      },
      // Everything goes to the function below.
      outbound: {} as Outbound,
      meters: { count: () => undefined },
      jobs: { schedule: () => undefined } as unknown as Jobs,
      metrics: { collect: () => undefined },
    }),
  )
  const endpointId = newId()
  let calls = 0
  const invoke = async () => {
    calls++
    return { status: 200, body: "" }
  }
  deliveries.define({
    name: "test",
    resolve: async () => new Map([[endpointId, { target: { name: "f", invoke }, secrets: [] }]]),
    disable: async () => undefined,
  })
  const send = () =>
    deliveries.enqueue(database.db, [
      {
        ...{ id: newId(), kind: "test", tenantId: newId(), projectId: null, streamId: newId() },
        ...{ type: "t", source: null, topic: null, at: new Date(), data: "{}" },
        recipients: [{ endpointId, maxRetries: 1 }],
      },
    ])
  const workers = () => database.db.selectFrom("deliveries.workers").select("id").execute()

  await running.start()
  await send()
  const untilMs = Date.now() + UNTIL_MS_MAX
  while (calls === 0 && Date.now() < untilMs) await delay(5)
  assert.equal((await workers()).length, 1)
  await running.drain(10_000)
  assert.deepEqual(await workers(), [])
  await send()
  await clock.advance(10_000)
  assert.deepEqual([calls, await workers()], [1, []])
})
