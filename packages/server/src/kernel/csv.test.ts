import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { test } from "node:test"
import { csvLine } from "./csv.ts"

test("cells are quoted where they must be, and what a spreadsheet would run is marked as text", () => {
  assert.equal(csvLine(["a", 1, null, "b,c", 'd"e', " f"]), 'a,1,,"b,c","d""e"," f"\r\n')
  assert.equal(csvLine(["=1+1", "+49", "-1.5", "@x", "\tx", "＝1"]), `'=1+1,'+49,-1.5,'@x,'\tx,'＝1\r\n`)
})

const python = spawnSync("python3", ["--version"]).status === 0

test("Python's csv module reads back what was written", { skip: python ? false : "needs python3" }, () => {
  const rows = [
    ["plain", 'quote " and , comma', "two\r\nlines", "ünï ☃", ""],
    ["1", "'", '""', "\n", " "],
  ]
  const script =
    "import csv,json,sys,io; print(json.dumps(list(csv.reader(io.TextIOWrapper(sys.stdin.buffer, 'utf-8', newline='')))))"
  const { stdout } = spawnSync("python3", ["-c", script], {
    input: rows.map(csvLine).join(""),
    encoding: "utf8",
  })
  assert.deepEqual(JSON.parse(stdout), rows)
})
