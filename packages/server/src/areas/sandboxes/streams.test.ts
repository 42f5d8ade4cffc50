/** Commands whose output is followed as it comes. */

import assert from "node:assert/strict"
import { test } from "node:test"
import type { ServerSentEvent } from "@svc/sdk"
import { eventually } from "../../testing/eventually.ts"
import { platform } from "../../testing/platform.ts"
import { refusedAs, runningSandbox, SANDBOX_SCOPES } from "./testing/sandboxes.ts"

type Events = AsyncIterable<ServerSentEvent>

const textOf = (event: ServerSentEvent): string =>
  Buffer.from((JSON.parse(event.data) as { data: string }).data, "base64").toString()

const collect = async (events: Events) => {
  const outputs = { stdout: "", stderr: "" }
  let exit: Record<string, unknown> = {}
  for await (const event of events) {
    if (event.event === "exit" || event.event === "error") exit = JSON.parse(event.data)
    else outputs[event.event as "stdout" | "stderr"] += textOf(event)
  }
  return { ...outputs, exit }
}

test("output comes while the command runs, all of it, and the exit comes last", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...SANDBOX_SCOPES)
  const id = await runningSandbox(svc)
  const command = "echo one; until [ -e go ]; do sleep 0.01; done; echo two >&2; exit 5"
  const events = (await svc.sandboxes.streamCommand({ id, command })) as Events
  const iterator = events[Symbol.asyncIterator]()
  const first = await iterator.next()
  assert.equal(textOf(first.value as ServerSentEvent), "one\n")
  await svc.sandboxes.writeFiles({ id, files: [{ path: "go", content: "" }] })
  const rest = await collect({ [Symbol.asyncIterator]: () => iterator })
  assert.deepEqual([rest.stderr, rest.exit.exit_code, rest.exit.timed_out], ["two\n", 5, false])

  const flood = "head -c 5000000 /dev/zero | tr '\\0' x"
  const flooded = await collect((await svc.sandboxes.streamCommand({ id, command: flood })) as Events)
  assert.deepEqual([flooded.stdout.length, flooded.exit.exit_code], [5_000_000, 0])

  // Enough for its first word on any machine.
  const late = await svc.sandboxes.streamCommand({ id, command: "echo a; sleep 1000", timeout_seconds: 10 })
  const ended = await collect(late as Events)
  assert.deepEqual([ended.stdout, ended.exit.exit_code, ended.exit.timed_out], ["a\n", 124, true])
  await assert.rejects(
    svc.sandboxes.streamCommand({ id, command: ["/no/such"] }),
    refusedAs("invalid_parameter", 400),
  )
})

test("hanging up kills the command, and the end of the sandbox ends the stream", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...SANDBOX_SCOPES)
  const id = await runningSandbox(svc)
  const sleepers = () => svc.sandboxes.runCommand({ id, command: "cat /proc/[0-9]*/comm | grep -c ^yes" })
  const events = (await svc.sandboxes.streamCommand({ id, command: "yes" })) as Events
  for await (const _ of events) break
  await eventually("the command is gone", sleepers, ({ stdout }) => stdout === "0\n")

  const command = "echo a; touch said; sleep 1000"
  const other = collect((await svc.sandboxes.streamCommand({ id, command })) as Events)
  const names = () => svc.sandboxes.runCommand({ id, command: "ls" })
  await eventually("it has said a", names, ({ stdout }) => stdout === "said\n")
  await svc.sandboxes.delete({ id })
  const { stdout, exit } = await other
  assert.deepEqual([stdout, exit], ["a\n", { error: "the workload ended while the command ran" }])
})

test("an Idempotency-Key does not make a stream a record", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...SANDBOX_SCOPES)
  const id = await runningSandbox(svc)
  for (const n of [1, 2]) {
    const command = "echo x >> runs; wc -l < runs"
    const events = await svc.sandboxes.streamCommand({ id, command }, { idempotencyKey: "same" })
    assert.equal((await collect(events as Events)).stdout, `${n}\n`)
  }
})

test("a running sandbox tells what it uses", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...SANDBOX_SCOPES)
  const id = await runningSandbox(svc)
  const metrics = await svc.sandboxes.metrics({ id })
  assert.deepEqual([metrics.cpu_count, metrics.memory_total_bytes], [0.5, 256 * 2 ** 20])
  assert.ok(metrics.processes >= 1)
  assert.ok(metrics.disk_used_bytes >= 0 && metrics.disk_used_bytes < metrics.disk_total_bytes)
})

test("an ephemeral sandbox has the disk that its record says, beside its memory", async t => {
  const p = await platform(t)
  const svc = await p.client("acme", ...SANDBOX_SCOPES)
  const id = await runningSandbox(svc)
  const { disk_total_bytes, memory_total_bytes } = await svc.sandboxes.metrics({ id })
  const { disk_gb } = await svc.sandboxes.get({ id })
  if (disk_total_bytes < disk_gb * 2 ** 30) return t.skip("the driver has no disks")
  const bytes = memory_total_bytes + 100_000_000
  const command = `head -c ${bytes} /dev/zero >fill && wc -c <fill`
  assert.equal((await svc.sandboxes.runCommand({ id, command })).stdout, `${bytes}\n`)
})
