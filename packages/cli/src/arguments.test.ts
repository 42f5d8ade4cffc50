import assert from "node:assert/strict"
import { test } from "node:test"
import { allOperations, areas, type Operation } from "@svc/contract"
import { checkRequired, takeFields, takeWords } from "./arguments.ts"
import { fieldsOf } from "./commands.ts"
import { UsageError } from "./terminal.ts"

const { set, del, keys: list, batch } = areas.kv.operations
const { create, rotate, update } = areas.keys.operations

const inputOf = (operation: Operation, ...line: string[]) => takeFields(operation, line).input

test("the words of the command are found whatever flags stand before and between them", () => {
  const { words, globals, rest } = takeWords(
    ["--project", "p", "kv", "--json", "set", "--key", "a", "-y"],
    word => word === "login",
  )
  assert.deepEqual(words, ["kv", "set"])
  assert.deepEqual({ ...globals }, { project: "p", json: true })
  assert.deepEqual(rest, ["--key", "a", "-y"])
  assert.deepEqual(takeWords(["login", "--url", "x"], word => word === "login").rest, ["--url", "x"])
  assert.deepEqual(takeWords([], () => false).words, [])
})

for (const [what, operation, line, input] of [
  [
    "flags are the fields in kebab case",
    set,
    ["--key", "a", "--value", "b", "--ttl-seconds", "60"],
    { key: "a", value: "b", ttl_seconds: 60 },
  ],
  ["an alias means its field", set, ["--ttl", "60"], { ttl_seconds: 60 }],
  ["required fields may come without their flag, in order", set, ["a", "b"], { key: "a", value: "b" }],
  [
    "a field given by its flag leaves the words to the others",
    set,
    ["--key", "a", "b"],
    { key: "a", value: "b" },
  ],
  ["a value of any type is JSON where it parses", set, ["a", '{"n":1}'], { key: "a", value: { n: 1 } }],
  ["and else a string", set, ["a", "{not json"], { key: "a", value: "{not json" }],
  ["null and numbers are JSON too", set, ["1", "null"], { key: "1", value: null }],
  ["a string stays a string whatever it looks like", set, ["--key", "17"], { key: "17" }],
  [
    "booleans are switched on, off, and spelled out",
    set,
    ["--nx", "--no-xx", "--keep-ttl=false"],
    { nx: true, xx: false, keep_ttl: false },
  ],
  ["what follows -- is a word", set, ["--", "--key", "b"], { key: "--key", value: "b" }],
  ["a command without required fields takes the field it is about", del, ["a"], { key: "a" }],
  ["the same for a pattern", list, ["user:*"], { pattern: "user:*" }],
  ["lists come by repeating the flag", del, ["--keys", "a", "--keys", "b"], { keys: ["a", "b"] }],
  ["or as JSON", del, ["--keys", '["a","b"]'], { keys: ["a", "b"] }],
  ["one word is a list of one", del, ["--keys", "a"], { keys: ["a"] }],
  [
    "objects in a list are JSON",
    batch,
    ["--ops", '{"op":"get","key":"a"}'],
    { ops: [{ op: "get", key: "a" }] },
  ],
  ["a field that may be null takes null", create, ["--project-id", "null"], { project_id: null }],
  ["path parameters are words too", rotate, ["some-id"], { id: "some-id" }],
  [
    "a flag of the body beside a path parameter",
    update,
    ["some-id", "--name", "x"],
    { id: "some-id", name: "x" },
  ],
] as const)
  test(what, () => assert.deepEqual({ ...inputOf(operation, ...line) }, input))

for (const [what, operation, line, message] of [
  [
    "an unknown flag, with the one that was meant",
    set,
    ["--if-verison", "1"],
    /^unknown flag --if-verison; did you mean --if-version\?$/,
  ],
  ["a number that is none", set, ["--ttl-seconds", "soon"], /^--ttl-seconds must be a whole number$/],
  ["a fraction where a whole number is asked", set, ["--ttl-seconds", "1.5"], /^--ttl-seconds must be/],
  ["an empty number", set, ["--ttl-seconds", ""], /^--ttl-seconds must be/],
  ["a word too many", set, ["a", "b", "c"], /^unexpected word: c$/],
  ["a single value given twice", set, ["--key", "a", "--key", "b"], /^--key is given more than once$/],
  ["a flag without its value", set, ["--key"], /--key/],
  ["a list that is not JSON", del, ["--keys", "[a"], /^--keys must be a JSON array$/],
] as const)
  test(`refused: ${what}`, () =>
    assert.throws(
      () => inputOf(operation, ...line),
      (error: unknown) => {
        assert.ok(error instanceof UsageError)
        assert.match(error.message, message)
        assert.match(error.about ?? "", /^kv /)
        return true
      },
    ))

test("every required field that is missing is named", () => {
  assert.throws(() => checkRequired(set, {}), { message: "missing --key, --value" })
  checkRequired(set, { key: "a", value: null })
})

test("after the command's words a field takes precedence over a global flag of its name", () => {
  const operation: Operation = {
    ...set,
    body: { ...set.body, properties: { url: { type: "string" } } } as never,
  }
  const { input, globals } = takeFields(operation, ["--url", "https://example.com", "--json"])
  assert.deepEqual({ ...input }, { url: "https://example.com" })
  assert.deepEqual({ ...globals }, { json: true })
})

test("no operation of the contract has two flags of one name", () => {
  for (const operation of allOperations) {
    const flags = fieldsOf(operation).map(({ flag }) => flag)
    assert.equal(new Set(flags).size, flags.length, operation.name)
  }
})
