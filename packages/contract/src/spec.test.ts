import assert from "node:assert/strict"
import { readFile } from "node:fs/promises"
import { test } from "node:test"
import { allOperations, faults, impliedStatuses, type Operation } from "./index.ts"

/** A row of the specification's tables of operations. */
interface Row {
  readonly method: string
  readonly path: string
  readonly operationId: string
  readonly scope: string | null
  readonly statuses: readonly number[]
}

const rows: readonly Row[] = JSON.parse(
  await readFile(new URL("../spec/operations.json", import.meta.url), "utf8"),
)
/** Success statuses beyond its row that a parameter of the protocol asks for. */
const BESIDE_ROW: Readonly<Record<string, number>> = {
  // With `digest` or `mount` no upload begins: the blob is there (OCI distribution specification, "Pushing a blob monolithically").
  "registry.startUpload": 201,
}

const byRoute = new Map(rows.map(row => [`${row.method} ${row.path}`, row]))

const specified = allOperations.filter(({ extension }) => !extension)

/** A row that names one of these has a reason of its own, which the operation must declare. */
const NEEDS_A_REASON: ReadonlySet<number> = new Set([409, 503])

const rowOf = ({ name, http }: Operation): Row => {
  const row = byRoute.get(http)
  assert.ok(row, `${name}: the specification has no ${http}; correct it, or mark it \`extension\``)
  return row
}

/**
 * Forms of the same answer that a condition, a range (RFC 9110, 13 and 14) or a preference (RFC 7240, 4.1) of the request
 * asks for: no row of their own.
 */
const ASKED_FORMS: ReadonlySet<number> = new Set([202, 206, 304])

const refusals = (operation: Operation): ReadonlySet<number> =>
  new Set([
    ...[...impliedStatuses(operation)].filter(status => !NEEDS_A_REASON.has(status)),
    ...(operation.faults ?? []).map(code => faults[code].status),
  ])

test("every operation of the specification has its row's method, path and operationId", t => {
  for (const operation of specified) assert.equal(operation.id, rowOf(operation).operationId, operation.name)
  t.diagnostic(`${specified.length} of the ${rows.length} operations of the specification are declared`)
})

test("an operation answers exactly the success statuses of its row", () => {
  for (const operation of specified) {
    const expected = rowOf(operation).statuses.filter(status => status < 300)
    const declared = Object.keys(operation.replies)
      .map(Number)
      .filter(status => status !== BESIDE_ROW[operation.name])
    const answered = declared.includes(200) ? declared.filter(status => !ASKED_FORMS.has(status)) : declared
    assert.deepEqual(answered.sort(), expected.sort(), operation.name)
  }
})

test("every refusal of a row is one that its operation declares or implies", () => {
  for (const operation of specified) {
    const known = refusals(operation)
    const missing = rowOf(operation).statuses.filter(status => status >= 400 && !known.has(status))
    assert.deepEqual(missing, [], `${operation.name}: declare a fault for each of these statuses`)
  }
})

test("an operation asks for the scope that its row names", () => {
  for (const operation of specified) {
    const { scope } = rowOf(operation)
    if (scope !== null) assert.equal(operation.scope, scope, operation.name)
  }
})

test("what lies beyond the specification takes no row of it", () => {
  for (const { name, id, http } of allOperations.filter(({ extension }) => extension)) {
    assert.ok(!byRoute.has(http), `${name}: ${http} is in the specification; remove the mark \`extension\``)
    assert.ok(!rows.some(({ operationId }) => operationId === id), `${name}: ${id} names another operation`)
  }
})

test("no two operations share an operationId, a name or a route", () => {
  for (const field of ["id", "name", "http"] as const) {
    const values = allOperations.map(operation => operation[field])
    assert.deepEqual([...new Set(values)], values, field)
  }
})
