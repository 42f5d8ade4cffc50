import assert from "node:assert/strict"
import { test } from "node:test"
import { fillText } from "./faults/spec.ts"
import {
  type FaultParam,
  faultCodes,
  faultSpec,
  faultStatuses,
  faults,
  faultText,
  wireCode,
} from "./faults.ts"

test("the literal strings of the specification are given exactly", () => {
  // Specification 5.5.
  assert.equal(faultText("project_required"), "this operation requires a project-scoped API key")
  assert.equal(faultText("storage_project_required"), "storage API requires a project-scoped API key")
  assert.equal(
    faultText("publishable_key_not_allowed"),
    "publishable keys cannot be used for resource operations",
  )
  assert.equal(faultText("key_read_only"), "key is read-only — only SELECT, SHOW, and EXPLAIN are allowed")
  assert.equal(
    faultText("missing_scope", { scopes: "database:read or database:query" }),
    "missing scope: database:read or database:query",
  )
  assert.equal(faultText("key_session_required"), "key management requires a signed-in user session")
})

test("an area's own wording of a refusal carries the code of the general one", () => {
  assert.equal(wireCode("storage_project_required"), "project_required")
  assert.equal(wireCode("key_session_required"), "session_required")
  const shared = faultCodes.filter(code => wireCode(code) !== code)
  assert.deepEqual(shared.sort(), ["key_session_required", "storage_project_required"])
})

test("every code is a snake_case word with an allowed status", () => {
  for (const code of faultCodes) {
    assert.match(code, /^[a-z0-9_]+$/)
    assert.match(wireCode(code), /^[a-z0-9_]+$/)
    assert.ok(faultStatuses.includes(faults[code].status), `${code} has the status ${faults[code].status}`)
  }
})

test("no two families of the table define the same code", async () => {
  const families = await Promise.all(
    ["access", "bad-input", "bad-request", "not-found", "oauth", "refusals", "server-side"].map(
      name => import(`./faults/${name}.ts`) as Promise<Record<string, Record<string, unknown>>>,
    ),
  )
  const defined = families.flatMap(family => Object.values(family).flatMap(table => Object.keys(table)))
  assert.deepEqual([...defined].sort(), [...faultCodes].sort())
})

test("every text is a lower-case phrase without final punctuation, bare or filled", () => {
  for (const code of faultCodes) {
    for (const text of [faultText(code), filled(code)]) {
      assert.match(text, /^[a-z]/, `${code}: "${text}" must start in lower case`)
      assert.match(text, /[\p{Letter}\p{Number}]$/u, `${code}: "${text}" must not end in punctuation`)
      assert.doesNotMatch(text, /[[\]{}]|\s{2}/, `${code}: "${text}" shows its template`)
    }
  }
})

test("every placeholder stands in an optional part, so that a text reads well without its values", () => {
  for (const code of faultCodes) {
    const fixed = faults[code].text.replace(/\[[^[\]]*\]/g, "")
    assert.doesNotMatch(fixed, /[[\]{}]/, `${code}: put the placeholder in a part such as "[: {name}]"`)
  }
})

test("every help is one to three sentences", () => {
  for (const code of faultCodes) {
    const { help } = faultSpec(code)
    assert.match(help, /^[A-Z`].*[.]$/s, `${code}: write whole sentences`)
    const sentences = help.replaceAll(/`[^`]*`/g, "x").split(/[.!?](?:\s|$)/).length - 1
    assert.ok(sentences >= 1 && sentences <= 3, `${code}: ${sentences} sentences`)
  }
})

test("a part of a text is left out whole when one of its values is unknown", () => {
  assert.equal(faultText("missing_scope"), "missing scope")
  assert.equal(
    faultText("plan_limit_reached", { limit: 5, resources: "projects" }),
    "the plan's limit is reached: your plan allows 5 projects",
  )
  assert.equal(faultText("plan_limit_reached", { limit: 5 }), "the plan's limit is reached")
  assert.equal(faultText("plan_limit_reached", { limit: 0, resources: "" }), "the plan's limit is reached")
})

test("a value is taken literally, bounded in length, and never from an object's prototype", () => {
  assert.equal(faultText("name_taken", { resource: "bucket", name: "$& {id} [x]" }), NAME_TAKEN_LITERAL)
  assert.equal(
    faultText("invalid_sql", { reason: "x".repeat(10_000) }).length,
    "the database rejected the statement: ".length + 501,
  )
  assert.equal(fillText("a[: {constructor}]", {}), "a")
})

const NAME_TAKEN_LITERAL = "this name is already in use: bucket $& {id} [x] already exists"

/** The text with every placeholder filled. */
const filled = (code: (typeof faultCodes)[number]): string => {
  const names = [...faults[code].text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as FaultParam)
  return faultText(code, Object.fromEntries(names.map(name => [name, "x"])))
}
