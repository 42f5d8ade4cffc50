import assert from "node:assert/strict"
import { test } from "node:test"
import { area, Dictionary, T } from "@svc/contract"
import { createValidators } from "./validation.ts"

const { operations } = area(
  "sample",
  { title: "Sample", summary: "Fields of every kind", project: "none", belongs: "installation" },
  {
    sample: {
      id: "sample",
      http: "POST /v1/sample/{id}",
      summary: "Take fields of every kind",
      scope: "any",
      effect: "read",
      params: T.Object({ id: T.String({ format: "uuid" }) }),
      query: T.Object({
        limit: T.Optional(T.Integer({ minimum: 1, maximum: 10, default: 5 })),
        flag: T.Optional(T.Boolean()),
        share: T.Optional(T.Number({ minimum: 0, maximum: 1 })),
        names: T.Optional(T.Array(T.String())),
      }),
      body: T.Object({
        at: T.Optional(T.String({ format: "date-time" })),
        inner: T.Optional(
          T.Object({ "a/b~c": T.Optional(T.Integer()), kind: T.Optional(T.String({ enum: ["x", "y"] })) }),
        ),
        open: T.Optional(T.Object({ known: T.Integer() }, { additionalProperties: true })),
        record: T.Optional(T.Record(T.String(), T.Integer())),
        pattern: T.Optional(T.Record(T.String({ pattern: "^x" }), T.Integer())),
        names: T.Optional(Dictionary(T.String({ minLength: 1, maxLength: 3 }), T.Integer())),
        count: T.Optional(T.Integer({ default: 3 })),
      }),
      replies: { 200: T.Object({}) },
    },
  },
)

const { params, query, body } = createValidators(operations.sample)

/** What is wrong with a body, as `location: message`. */
const wrong = (value: unknown, part = body) =>
  part?.check(value)?.map(({ location, message }) => `${location}: ${message}`)

test("an identifier is a UUID as PostgreSQL spells it", () => {
  for (const id of ["01890a5d-ac96-774b-bcce-b302099a8057", "01890A5D-AC96-774B-BCCE-B302099A8057"]) {
    assert.equal(wrong({ id }, params), undefined, id)
  }
  for (const id of [
    "urn:uuid:01890a5d-ac96-774b-bcce-b302099a8057",
    "{01890a5d-ac96-774b-bcce-b302099a8057}",
    "01890a5dac96774bbcceb302099a8057",
    "",
    "x",
  ]) {
    assert.deepEqual(wrong({ id }, params), ['path.id: must match format "uuid"'], id)
  }
})

test("a time is one that exists and that a Date can hold", () => {
  for (const at of [
    "2030-01-01T00:00:00Z",
    "2030-01-01T00:00:00.123456+05:30",
    "2024-02-29T23:59:59-00:00",
    "0001-01-01T00:00:00Z",
  ]) {
    assert.equal(wrong({ at }), undefined, at)
  }
  for (const at of [
    "2016-12-31T23:59:60Z",
    "2024-02-30T00:00:00Z",
    "2023-02-29T00:00:00Z",
    "2030-13-01T00:00:00Z",
    "2030-01-00T00:00:00Z",
    "2030-01-01T24:00:01Z",
    "2030-01-01T00:00:00",
    "2030-01-01 00:00:00Z",
    "2030-01-01",
    "+275760-09-13T00:00:00Z",
    "now",
  ]) {
    assert.deepEqual(wrong({ at }), ['body.at: must match format "date-time"'], at)
  }
})

test("a field that is not declared is refused at every depth, and named", () => {
  assert.deepEqual(wrong({ colour: 1 }), ["body.colour: is not a field of this request"])
  assert.deepEqual(wrong({ inner: { colour: 1 } }), ["body.inner.colour: is not a field of this request"])
  assert.deepEqual(wrong({ inner: { "a/b~c": "x" } }), ["body.inner.a/b~c: must be integer"])
  assert.deepEqual(wrong({ inner: { kind: "z" } }), ["body.inner.kind: must be one of x, y"])
  assert.deepEqual(wrong({ open: {} }), ["body.open.known: is required"])
})

test("an object that opens itself takes any field", () => {
  assert.equal(wrong({ open: { known: 1, other: 2 }, record: { anything: 1 } }), undefined)
})

test("an object whose names are data takes names that fit, whatever characters they have", () => {
  assert.equal(wrong({ record: { "": 1, "a\nb": 2 }, pattern: { x1: 1 }, names: { abc: 1 } }), undefined)
  assert.deepEqual(wrong({ record: { "a\nb": "x" } }), ["body.record.a\nb: must be integer"])
  assert.deepEqual(wrong({ pattern: { y: 1 } }), ["body.pattern.y: is not a field of this request"])
  for (const name of ["", "abcd", "x".repeat(1_000_000)])
    assert.deepEqual(wrong({ names: { [name]: 1 } }), [
      `body.names.${name}: is not a name that this field takes`.replace(/x{500,}/, "x".repeat(189)),
    ])
})

test("a name that the caller made long is cut", () => {
  const [error = ""] = wrong({ ["n".repeat(100_000)]: 1 }) ?? []
  assert.ok(error.length < 300)
})

test("fields of the query arrive as text and leave as what they are", () => {
  const given: Record<string, unknown> = { flag: "true", names: "one" }
  assert.equal(wrong(given, query), undefined)
  assert.deepEqual(given, { limit: 5, flag: true, names: ["one"] })
  assert.deepEqual(wrong({ limit: "ten" }, query), ["query.limit: must be integer"])
  assert.deepEqual(wrong({ limit: ["1", "2"] }, query), ["query.limit: must be integer"])
})

test("integers of the path and the query are decimal, and numbers are written as in JSON", () => {
  for (const limit of ["5", ["5"]]) assert.equal(wrong({ limit }, query), undefined, String(limit))
  for (const limit of ["0x5", "5e0", " 5", "5 ", "+5", "05", "5.0", "", "-0", "0b1", "٥", "5_0", "1e1"])
    assert.deepEqual(wrong({ limit }, query), ["query.limit: must be integer"], limit)
  for (const share of ["0", "0.5", "7.9e-62", "5E-1"]) assert.equal(wrong({ share }, query), undefined, share)
  for (const share of ["0x1", ".5", "1.", " 1", "1e", "", "-0x1", "1e999", "NaN", "Infinity"])
    assert.equal(wrong({ share }, query)?.length, 1, share)
})

test("fields of the body are taken as they are, and completed", () => {
  assert.deepEqual(wrong({ count: "3" }), ["body.count: must be integer"])
  const given = {}
  assert.equal(wrong(given), undefined)
  assert.deepEqual(given, { count: 3 })
})
