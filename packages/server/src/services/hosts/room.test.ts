import assert from "node:assert/strict"
import { test } from "node:test"
import { createRoom } from "./hosts.ts"

const full = { code: "no_host_capacity" }

test("what the driver takes beside a workload is reserved with it, and is free again with it", () => {
  const room = createRoom({ memoryBytes: 1_000, workloadsMax: 10 }, 100)
  const first = room.reserve({ memoryBytes: 400 })
  assert.deepEqual(room.use(), { memoryReservedBytes: 500, workloads: 1 })
  room.reserve({ memoryBytes: 400 })
  assert.throws(() => room.reserve({ memoryBytes: 1 }), full)
  first[Symbol.dispose]()
  first[Symbol.dispose]()
  assert.deepEqual(room.use(), { memoryReservedBytes: 500, workloads: 1 })
  assert.throws(() => room.reserve({ memoryBytes: 401 }), full)
  room.reserve({ memoryBytes: 400 })
})

test("spare room is given up for a workload with its overhead, and takes none from others", () => {
  const room = createRoom({ memoryBytes: 300, workloadsMax: 10 }, 100)
  const spare = room.reserve({ memoryBytes: 100, spare: true })
  room.onPressure(() => {
    const before = room.use().workloads
    spare[Symbol.dispose]()
    return room.use().workloads < before
  })
  assert.throws(() => room.reserve({ memoryBytes: 100, spare: true }), full)
  room.reserve({ memoryBytes: 200 })
  assert.deepEqual(room.use(), { memoryReservedBytes: 300, workloads: 1 })
  assert.throws(() => room.reserve({ memoryBytes: 1 }), full)
})
