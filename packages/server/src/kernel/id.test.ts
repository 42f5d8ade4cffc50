import assert from "node:assert/strict"
import { test } from "node:test"
import { isUuid, newId } from "./id.ts"

test("ids are UUIDs of version 7 that sort in the order of their making, even within a millisecond", () => {
  const made = Array.from({ length: 2_000 }, () => newId(1_700_000_000_000))
  assert.deepEqual([...made].sort(), made)
  assert.equal(new Set(made).size, made.length)
  for (const id of made) {
    assert.ok(isUuid(id))
    assert.match(id, /^018bcfe5-6800-7[0-9a-f]{3}-[89ab]/)
  }
  assert.ok(newId(1_700_000_000_001) > (made.at(-1) ?? ""))
})

test("ids of one time sort in the order of their making also when others are made in between", () => {
  const made = Array.from({ length: 500 }, (_, at) => {
    newId(1_800_000_000_000 + at)
    return newId(1_600_000_000_000)
  })
  assert.deepEqual([...made].sort(), made)
})
