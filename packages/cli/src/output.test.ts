import assert from "node:assert/strict"
import { test } from "node:test"
import { printable, printReply, toJson } from "./output.ts"
import type { Writer } from "./terminal.ts"

const sheet = (columns?: number) => {
  const lines: string[] = []
  const writer: Writer = {
    columns,
    line: text => void lines.push(text),
    status: () => {},
    size: () => undefined,
    onResize: () => ({ [Symbol.dispose]: () => {} }),
    bytes: async () => {},
  }
  return { lines, writer }
}

const shown = (value: unknown, columns?: number) => {
  const out = sheet(columns)
  const err = sheet()
  printReply(value, out.writer, err.writer)
  return { out: out.lines, err: err.lines }
}

test("a page is a table of its rows, and what is not on it is a note aside", () => {
  const data = [
    { id: "a", name: "first", note: null },
    { id: "b", name: "second", note: null },
  ]
  assert.deepEqual(shown({ data, total: 7, limit: 2, offset: 2 }), {
    out: ["id        name", "a         first", "b         second"],
    err: ["4 of 7; --offset 4 shows more"],
  })
})

test("a list that pages by cursor says how to go on", () => {
  assert.deepEqual(shown({ keys: ["a", "b"], cursor: "abc" }), {
    out: ["a", "b"],
    err: ["--cursor abc shows more"],
  })
})

test("an object is one line for each field, inner objects included", () => {
  assert.deepEqual(shown({ id: "a", organization: { id: "o", tags: ["x", "y"] }, project: null, n: 1 }).out, [
    "id                 a",
    "organization.id    o",
    "organization.tags  x, y",
    "project",
    "n                  1",
  ])
})

test("fields beside a list that are no page are shown, not dropped", () => {
  assert.deepEqual(shown({ committed: false, failed_index: 1, results: [] }).out, [
    "committed     false",
    "failed_index  1",
    "results",
  ])
})

test("a table keeps to the screen and names the columns it left out", () => {
  const { out, err } = shown([{ first: "x".repeat(20), second: "y".repeat(20), third: "z" }], 45)
  assert.ok(out.every(line => line.length <= 45))
  assert.deepEqual(err, ["not shown: third (--json shows all)"])
})

test("stored text cannot steer the terminal", () => {
  assert.equal(printable("a\u001b[31mred\u0007\u009b2J\r\n"), "a\\x1b[31mred\\x07\\x9b2J\\x0d\\n")
  assert.deepEqual(shown([{ name: "\u001b]0;title\u0007" }]).out, ["name", "\\x1b]0;title\\x07"])
  const json = toJson({ name: "\u001b\u009b" })
  assert.ok(!/\p{Cc}/u.test(json.replaceAll("\n", "")))
  assert.deepEqual(JSON.parse(json), { name: "\u001b\u009b" })
})

test("an empty list and an empty reply leave standard output empty", () => {
  assert.deepEqual(shown([]), { out: [], err: ["none"] })
  assert.deepEqual(shown(undefined), { out: [], err: ["done"] })
})
