import assert from "node:assert/strict"
import { test } from "node:test"
import { createMetrics } from "./metrics.ts"

const read = async (observe: (metrics: ReturnType<typeof createMetrics>) => void) => {
  using metrics = createMetrics()
  observe(metrics)
  return (await metrics.text()).split("\n")
}

test("requests are counted by operation and status", async () => {
  const lines = await read(metrics => {
    metrics.observe("kv.set", 200, 0.001)
    metrics.observe("kv.set", 200, 0.001)
    metrics.observe("kv.set", 429, 0.001)
    metrics.observe("kv.get", 200, 0.001)
  })
  assert.deepEqual(
    lines.filter(line => line.startsWith("svc_requests_total")),
    [
      'svc_requests_total{operation="kv.set",status="200"} 2',
      'svc_requests_total{operation="kv.set",status="429"} 1',
      'svc_requests_total{operation="kv.get",status="200"} 1',
    ],
  )
})

test("a duration counts in every bucket whose bound it does not exceed, one beyond all of them in +Inf alone", async () => {
  const lines = await read(metrics => {
    metrics.observe("kv.get", 200, 0.001)
    metrics.observe("kv.get", 200, 0.75)
    metrics.observe("kv.get", 200, 3600)
  })
  const bucket = (bound: string) =>
    lines
      .find(line => line.includes(`_bucket{operation="kv.get",le="${bound}"}`))
      ?.split(" ")
      .at(-1)
  assert.equal(bucket("0.0005"), "0")
  assert.equal(bucket("0.001"), "1")
  assert.equal(bucket("0.5"), "1")
  assert.equal(bucket("1"), "2")
  assert.equal(bucket("60"), "2")
  assert.equal(bucket("+Inf"), "3")
  assert.ok(lines.includes('svc_request_duration_seconds_count{operation="kv.get"} 3'))
  assert.ok(lines.includes('svc_request_duration_seconds_sum{operation="kv.get"} 3600.751'))
})

test("every line is a comment or a sample with a finite value, and every sample's family is announced", async () => {
  const lines = await read(metrics => metrics.observe("kv.get", 200, 0.001))
  assert.equal(lines.at(-1), "", "the text ends with a line break")
  const families = new Set<string>()
  for (const line of lines.slice(0, -1)) {
    const type = /^# TYPE (\w+) (?:counter|gauge|histogram)$/.exec(line)?.[1]
    if (type) families.add(type)
    if (line.startsWith("#")) continue
    const [, name = "", value] = /^(\w+)(?:\{\w+="[^"]*"(?:,\w+="[^"]*")*\})? (\S+)$/.exec(line) ?? []
    assert.ok(Number.isFinite(Number(value)), line)
    assert.ok(families.has(name) || families.has(name.replace(/_(?:bucket|sum|count)$/, "")), line)
  }
})

test("the process tells its processor time, memory and event-loop lag", async () => {
  const lines = await read(() => {})
  for (const name of [
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    'nodejs_eventloop_lag_seconds{stat="p99"}',
  ])
    assert.ok(
      lines.some(line => line.startsWith(`${name} `)),
      name,
    )
})
