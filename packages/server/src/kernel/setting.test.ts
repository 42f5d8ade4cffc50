import assert from "node:assert/strict"
import { test } from "node:test"
import { readSettings } from "./setting.ts"
import { integer, nameServers, optional } from "./setting-parsers.ts"

const shared = { variable: "SVC_SHARED", default: "none", description: "Of two modules.", parse: optional }
const first = {
  limit: { variable: "SVC_LIMIT", default: "3", description: "A limit.", parse: integer(1, 10, 3) },
  shared,
}
const second = { also: shared }

test("a module gets its own settings by its own names, and all that is wrong is told at once", () => {
  const read = readSettings([first, second], { SVC_LIMIT: "5", SVC_SHARED: "both" })
  assert.deepEqual(read.of(first), { limit: 5, shared: "both" })
  assert.deepEqual(read.of(second), { also: "both" })
  assert.deepEqual(readSettings([first], {}).of(first), { limit: 3, shared: undefined })

  const other = { size: { ...first.limit, variable: "SVC_SIZE" } }
  const { problems } = readSettings([first, other], { SVC_LIMIT: "0", SVC_SIZE: "x" })
  assert.deepEqual(problems, [
    "SVC_LIMIT must be a whole number from 1 to 10",
    "SVC_SIZE must be a whole number from 1 to 10",
  ])
})

test("two modules cannot declare one variable, nor ask for what was not read", () => {
  assert.throws(() => readSettings([first, { own: { ...first.limit } }], {}), /two modules declare SVC_LIMIT/)
  assert.throws(() => readSettings([second], {}).of(first), /SVC_LIMIT was not read/)
})

test("name servers are addresses, with a port or without", () => {
  assert.deepEqual(nameServers(" 1.1.1.1, [::1]:5353,10.0.0.1:53"), ["1.1.1.1", "[::1]:5353", "10.0.0.1:53"])
  assert.deepEqual(nameServers(undefined), [])
  for (const text of ["dns.example.com", "1.1.1.256", "1.1.1.1:99999", "https://1.1.1.1"])
    assert.throws(() => nameServers(text), RangeError, text)
})
