import assert from "node:assert/strict"
import { test } from "node:test"
import { type FinishedCall, readTag } from "./call-queue.ts"
import { createObserver } from "./observer.ts"

const message = (type: string, payload: string | Buffer = ""): Buffer => {
  const body = Buffer.from(payload)
  const head = Buffer.alloc(5, type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const query = (sql: string) => message("Q", `${sql}\0`)
const parse = (name: string, sql: string) => message("P", `${name}\0${sql}\0\0\0`)
const bind = (portal: string, name: string) => message("B", `${portal}\0${name}\0\0\0\0\0\0\0`)
const execute = (portal = "") => message("E", `${portal}\0\0\0\0\0`)
const sync = message("S")
const parsed = message("1")
const bound = message("2")
const done = (tag: string) => message("C", `${tag}\0`)
const ready = (status: "I" | "T" | "E" = "I") => message("Z", status)
const failed = (sqlstate: string, text: string, severity = "ERROR") =>
  message("E", `S${severity}\0V${severity}\0C${sqlstate}\0M${text}\0\0`)

const look = () => {
  const calls: FinishedCall[] = []
  const keys: string[] = []
  let readies = 0
  const observer = createObserver({
    key: key => void keys.push(key),
    ready() {
      readies += 1
    },
    call: call => void calls.push(call),
  })
  const seen = () => calls.map(({ sql, rows, command, sqlstate }) => [sql, command, rows, sqlstate])
  return { observer, calls, keys, seen, readies: () => readies }
}

test("a simple query is one call, which lasts until the server is ready again", () => {
  const { observer, seen } = look()
  observer.front(query("select 1"))
  assert.equal(observer.state, "busy")
  observer.back(Buffer.concat([message("T"), message("D"), done("SELECT 1")]))
  assert.deepEqual(seen(), [])
  observer.back(ready())
  assert.equal(observer.state, "idle")
  assert.deepEqual(seen(), [["select 1", "SELECT", 1, null]])
})

test("pipelined statements each get their own answer, and what an error passes over none", () => {
  const { observer, seen } = look()
  observer.front(
    Buffer.concat([
      ...[parse("a", "insert"), bind("", "a"), execute(), bind("", "a"), execute()],
      ...[parse("", "broken"), bind("", ""), execute(), bind("", "a"), execute(), sync],
      ...[bind("p", "a"), execute("p"), sync],
    ]),
  )
  observer.back(Buffer.concat([parsed, bound, done("INSERT 0 3"), bound, done("INSERT 0 4")]))
  observer.back(Buffer.concat([failed("42601", "syntax error"), ready()]))
  assert.equal(observer.state, "busy")
  observer.back(Buffer.concat([bound, done("INSERT 0 5"), ready()]))
  assert.deepEqual(seen(), [
    ["insert", "INSERT", 3, null],
    ["insert", "INSERT", 4, null],
    ["broken", "", null, "42601"],
    ["insert", "INSERT", 5, null],
  ])
  assert.equal(observer.state, "idle")
})

test("statements sent after an error and before the Sync are not waited for", () => {
  const { observer, seen } = look()
  observer.front(Buffer.concat([parse("", "broken"), bind("", ""), execute()]))
  observer.back(failed("42601", "syntax error"))
  observer.front(Buffer.concat([parse("", "late"), bind("", ""), execute()]))
  observer.front(sync)
  observer.back(ready())
  assert.equal(observer.state, "idle")
  assert.deepEqual(seen(), [["broken", "", null, "42601"]])
})

test("COPY with a Sync sent ahead of its data leaves nothing waiting", () => {
  const { observer, seen } = look()
  observer.front(Buffer.concat([parse("", "copy t from stdin"), bind("", ""), execute(), sync]))
  observer.back(Buffer.concat([parsed, bound, message("G")]))
  observer.front(Buffer.concat([message("d", "1\n"), message("c"), sync]))
  observer.back(Buffer.concat([done("COPY 1"), ready()]))
  assert.equal(observer.state, "idle")
  assert.deepEqual(seen(), [["copy t from stdin", "COPY", 1, null]])
})

test("a session is busy while its transaction is open, failed or not", () => {
  const { observer } = look()
  for (const [status, state] of [
    ["T", "busy"],
    ["E", "busy"],
    ["I", "idle"],
  ] as const) {
    observer.front(query("x"))
    observer.back(Buffer.concat([done("BEGIN"), ready(status)]))
    assert.equal(observer.state, state)
  }
})

test("a session listens from its LISTEN to its last UNLISTEN", () => {
  const { observer } = look()
  const run = (sql: string, ...tags: string[]) => {
    observer.front(query(sql))
    observer.back(Buffer.concat([...tags.map(done), ready()]))
    return observer.state
  }
  assert.equal(run('listen news; LISTEN "More News"', "LISTEN", "LISTEN"), "listening")
  assert.equal(run("unlisten NEWS", "UNLISTEN"), "listening")
  assert.equal(run('unlisten "More News"', "UNLISTEN"), "idle")
  assert.equal(run("listen a", "LISTEN"), "listening")
  assert.equal(run("unlisten *", "UNLISTEN"), "idle")
  assert.equal(run("listen a", "LISTEN"), "listening")
  assert.equal(run("discard all", "DISCARD ALL"), "idle")
  assert.equal(run("select 'listen a'", "SELECT 1"), "idle")
})

test("passwords are never part of a call, and an error of the login is none", () => {
  const { observer, calls } = look()
  observer.front(message("p", "secret\0"))
  observer.back(failed("28P01", "password authentication failed", "FATAL"))
  assert.deepEqual(calls, [])
  assert.equal(observer.fatal, true)
})

test("keys of either length are told whole, and readiness once", () => {
  const { observer, keys, readies } = look()
  observer.back(
    Buffer.concat([
      message("K", Buffer.alloc(8, 1)),
      message("K", Buffer.alloc(260, 0xff)),
      ready(),
      ready(),
    ]),
  )
  assert.deepEqual(keys, ["\x01".repeat(8), "\xff".repeat(260)])
  assert.equal(readies(), 1)
})

test("a long statement is kept up to eight kilobytes, without half a character at its end", () => {
  const { observer, calls } = look()
  const sql = `select '${"ü".repeat(100_000)}'`
  const bytes = query(sql)
  for (let at = 0; at < bytes.length; at += 1_000) observer.front(bytes.subarray(at, at + 1_000))
  observer.back(ready())
  const kept = calls[0]?.sql ?? ""
  assert.ok(sql.startsWith(kept))
  assert.ok(Buffer.byteLength(kept) > 8_190 && Buffer.byteLength(kept) <= 8_192)
})

test("a session that asks without end and reads nothing is taken for busy, and costs no more memory", () => {
  const { observer } = look()
  const many = Buffer.concat(Array.from({ length: 1_000 }, () => execute()))
  for (let round = 0; round < 60; round++) observer.front(many)
  for (let round = 0; round < 60_000; round++) observer.back(done("SELECT 1"))
  assert.equal(observer.state, "busy")
})

test("tags tell command and rows", () => {
  const tags: [string, string, number | null][] = [
    ["INSERT 0 5", "INSERT", 5],
    ["SELECT 12", "SELECT", 12],
    ["CREATE TABLE", "CREATE TABLE", null],
    ["COPY 0", "COPY", 0],
    ["", "", null],
  ]
  for (const [tag, command, rows] of tags) assert.deepEqual(readTag(tag), { command, rows })
})
