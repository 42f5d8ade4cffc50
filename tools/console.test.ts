/** What the console is made of: a page for every operation, within its budget, made again after an edit. */
import assert from "node:assert/strict"
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { type TestContext, test } from "node:test"
import { allAreas, allOperations } from "@svc/contract"
import { commandOf, operationsOf } from "../packages/cli/src/commands.ts"
import { cliOf, mcpOf } from "../packages/console/src/derived/lines.ts"
import { consoleFolder, isConsoleFresh } from "../packages/server/bin/bundle.js"
import { operationTools } from "../packages/server/src/areas/mcp/tools.ts"
import { makeConsole } from "./console.ts"
import { renderAreas } from "./console-index.ts"

const ROOT = resolve(import.meta.dirname, "..")

/** A repository with the console's sources alone. */
const repository = (t: TestContext): string => {
  const root = mkdtempSync(join(tmpdir(), "svc-console-"))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  mkdirSync(join(root, "packages/console"), { recursive: true })
  cpSync(join(ROOT, "packages/console/src"), join(root, "packages/console/src"), { recursive: true })
  cpSync(join(ROOT, "packages/console/package.json"), join(root, "packages/console/package.json"))
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"))
  return root
}

const manifestOf = (root: string) =>
  JSON.parse(readFileSync(join(consoleFolder(root), "manifest.json"), "utf8")) as Record<string, string> & {
    readonly names: readonly string[]
  }

const compressed = (root: string, name: string): number =>
  readFileSync(join(consoleFolder(root), `${name}.gz`)).length

test("every operation of the contract has a row in the index and details in its area's file", () => {
  const { areas, operations, details } = renderAreas()
  assert.deepEqual(
    operations.map(([id]) => id),
    allOperations.map(({ id }) => id),
  )
  for (const [id, , at, method, path] of operations) {
    const operation = allOperations.find(other => other.id === id)
    assert.equal(`${method} ${path}`, `${operation?.method} ${operation?.path}`)
    assert.equal(areas[at]?.name, operation?.area, id)
    assert.ok(details[at]?.file[id], `${id} has no details`)
  }
  assert.equal(areas.length, allAreas.length)
})

test("the command and the tool on an operation's page are those of the command line and of the MCP server", () => {
  for (const operation of allAreas.flatMap(area => [...operationsOf(area)])) {
    const named = { ...operation, area: { name: operation.area } }
    assert.equal(cliOf(named, {}), `svc ${commandOf(operation)}`)
    const { params } = JSON.parse(mcpOf(named, {})) as { params: { name: string } }
    assert.ok(!operationTools.has(params.name) || operationTools.get(params.name)?.id === operation.id)
  }
  const kvSet = { id: "kvSet", key: "set", area: { name: "kv" } }
  assert.ok(operationTools.has("kv_set") && mcpOf(kvSet, {}).includes('"kv_set"'))
  assert.equal(
    cliOf(kvSet, { key: "it's", value: { a: [1] }, keep: false, if_absent: true, ttl: 5 }),
    ["svc kv set", "--key 'it'\\''s'", `--value '{"a":[1]}'`, "--no-keep", "--if-absent", "--ttl '5'"].join(
      " \\\n  ",
    ),
  )
})

test("the first load of the page is within its budget, and so is every area's file", async t => {
  const root = repository(t)
  await makeConsole(root, false)
  const { script = "", style = "", theme = "", operations = "", names } = manifestOf(root)
  const first = [script, style, theme, operations].map(name => compressed(root, name))
  const total = first.reduce((sum, bytes) => sum + bytes, 0)
  assert.ok(total <= 130_000, `the first load has ${total} bytes`)
  assert.ok(compressed(root, operations) <= 20_000, "the index of operations has grown")
  // A page loads its own part when it is opened; the SQL editor is by far the largest.
  const parts = names.filter(name => name.startsWith("part-")).map(name => compressed(root, name))
  assert.ok(parts.filter(bytes => bytes > 25_000).length <= 1, `parts of ${parts} bytes`)
  assert.ok(Math.max(...parts) <= 150_000, `a part has ${Math.max(...parts)} bytes`)
  for (const name of names.filter(name => name.endsWith(".json") && name !== operations))
    assert.ok(compressed(root, name) <= 12_000, `${name} has ${compressed(root, name)} bytes`)
})

test("an edit makes the console anew under other names, and nothing else does", async t => {
  const root = repository(t)
  await makeConsole(root, false)
  const before = manifestOf(root)
  assert.ok(isConsoleFresh(root))
  const source = join(root, "packages/console/src/shell/mark.tsx")
  writeFileSync(source, readFileSync(source, "utf8").replace("#2452c9", "#c92452"))
  assert.ok(!isConsoleFresh(root))
  await makeConsole(root, false)
  assert.ok(isConsoleFresh(root))
  const after = manifestOf(root)
  assert.notEqual(after.script, before.script)
  assert.equal(after.operations, before.operations)
  // An open tab may still ask for it.
  assert.ok(existsSync(join(consoleFolder(root), before.script ?? "")))
})

test("a source that does not parse leaves the console as it was made before", async t => {
  const root = repository(t)
  await makeConsole(root, false)
  const before = manifestOf(root)
  writeFileSync(join(root, "packages/console/src/main.tsx"), "const")
  await assert.rejects(makeConsole(root, false))
  assert.deepEqual(manifestOf(root), before)
  assert.ok(!isConsoleFresh(root))
})
