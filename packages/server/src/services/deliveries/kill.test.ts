import assert from "node:assert/strict"
import { fork } from "node:child_process"
import { once } from "node:events"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { newId } from "../../kernel/id.ts"
import { eventually } from "../../testing/eventually.ts"
import { deliveryWorld, eventOf } from "./testing/world.ts"

const DOOMED = fileURLToPath(new URL("./testing/doomed.ts", import.meta.url))

test("nothing that was enqueued is lost when the process that sends it is killed", async t => {
  const world = await deliveryWorld(t)
  const tenantId = newId()
  const told = new Set<string>()
  const kept = new Set<string>()
  const endpointIds = Array.from({ length: 10 }, () =>
    world.endpoint(async call => {
      told.add(eventOf(call))
      return { status: 200, body: "" }
    }),
  )
  const doomed = fork(DOOMED, [world.url, tenantId, ...endpointIds])
  t.after(() => doomed.kill("SIGKILL"))
  doomed.on("message", (news: { kept?: string[]; told?: string }) => {
    for (const id of news.kept ?? []) kept.add(id)
    if (news.told !== undefined) told.add(news.told)
  })
  await eventually("it is in the middle", () => kept.size >= 500 && told.size >= 100)
  doomed.kill("SIGKILL")
  await once(doomed, "exit")
  const before = told.size
  assert.ok(before < kept.size)
  const heir = await world.process()
  await eventually("the rest is told", async () => {
    await heir.clock.advance(1_000)
    return [...kept].every(id => told.has(id))
  })
  t.diagnostic(`${before} of ${kept.size} were told when it was killed`)
})
