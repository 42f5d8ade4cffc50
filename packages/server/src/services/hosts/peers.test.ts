import assert from "node:assert/strict"
import { test } from "node:test"
import { createPeers, roomiest } from "./peers.ts"
import type { PeerRow } from "./store.ts"

const peer = (id: string, given: Partial<PeerRow> = {}): PeerRow => ({
  ...{ id, url: `http://${id}:4000`, driver: "process", isolation: "process" },
  ...{ memory_bytes: 1000, memory_reserved_bytes: 0, workloads_max: 10, workloads: 0 },
  ...given,
})

const ids = (peers: readonly PeerRow[]) => peers.map(({ id }) => id).join(" ")

test("of the hosts that can take a workload, the one with most room is asked first", () => {
  const peers = [
    peer("narrow", { memory_reserved_bytes: 950 }),
    peer("half", { memory_reserved_bytes: 500 }),
    peer("empty"),
    peer("crowded", { workloads: 10 }),
    peer("silent", { driver: "none" }),
    peer("strong", { isolation: "gvisor", memory_reserved_bytes: 700 }),
    peer("wide", { memory_bytes: 9000 }),
  ]
  assert.equal(ids(roomiest(peers, { memoryBytes: 100 })), "wide empty half")
  assert.equal(ids(roomiest(peers, { memoryBytes: 100, isolation: "container" })), "strong")
  assert.equal(ids(roomiest(peers, { memoryBytes: 2_000 })), "wide")
  assert.equal(ids(roomiest(peers, { memoryBytes: 10_000 })), "")
})

test("a host that has just joined is found, and where nobody else is nobody is looked for", async () => {
  let rows: PeerRow[] = []
  const peers = createPeers({ peers: async () => rows }, "own")
  await peers.refresh()
  assert.equal(peers.at("one"), undefined)
  assert.equal(peers.withRoom({ memoryBytes: 1 }), undefined)
  rows = [peer("one")]
  await peers.refresh()
  rows = [peer("one"), peer("two")]
  assert.deepEqual((await peers.at("two")?.())?.map(String), ["http://two:4000/"])
  assert.deepEqual(await peers.at("three")?.(), [])
})
