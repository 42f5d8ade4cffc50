import assert from "node:assert/strict"
import { test } from "node:test"
import { byAddress, createTurns, leastConnections } from "./choose.ts"

const one = (id: string, weight = 1, active = 0) => ({ id, weight, active })

test("turns follow weights and are spread evenly", () => {
  const turns = createTurns()
  const all = [one("a", 5), one("b"), one("c")]
  const ids = Array.from({ length: 14 }, () => turns.next(all)?.id).join("")
  assert.equal(ids, "aabacaaaabacaa")
})

test("the backend with the fewest requests for its weight is next", () => {
  const turns = createTurns()
  assert.equal(leastConnections([one("a", 1, 3), one("b", 2, 4), one("c", 1, 9)], turns)?.id, "b")
  assert.equal(leastConnections([], turns), undefined)
})

test("an address keeps its backend when another one goes, and weights are kept", () => {
  const all = [one("a", 3), one("b"), one("c")]
  const addresses = Array.from({ length: 4_000 }, (_, at) => `10.0.${at >> 8}.${at & 255}`)
  const before = addresses.map(address => byAddress(all, address)?.id)
  const after = addresses.map(address => byAddress(all.slice(0, 2), address)?.id)
  assert.ok(before.every((id, at) => id === "c" || id === after[at]))
  const share = before.filter(id => id === "a").length / before.length
  assert.ok(share > 0.56 && share < 0.64, `${share}`)
})
