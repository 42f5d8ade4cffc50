/** Inputs made from the JSON schemas of the contract: ones that fit, ones on the edge, and ones that mean harm. */
import fc, { type Arbitrary } from "fast-check"

interface Schema {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly propertyNames?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly format?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
}

/** Written as `1e999`, which JSON allows and which no number can hold. */
export const INFINITE = "@infinite@"

/** JSON text of a body, with numbers that JSON.stringify would not write. */
export const bodyText = (body: unknown): string => JSON.stringify(body).replaceAll(`"${INFINITE}"`, "1e999")

const ITEMS_MAX = 3
const TEXT_MAX = 40

const hostileTexts: readonly string[] = [
  ...[
    "",
    " ",
    "\0",
    "a\0b",
    "\u0001\u001f\u007f",
    "\r\nx-injected: 1",
    "\ud800",
    "\udc00\ud800",
    "\ufeff",
    "\uffff\ufffe",
  ],
  ...[
    "\u202eright to left\u202c",
    "שלום",
    "مرحبا",
    "👩‍👩‍👧‍👦",
    "e\u0301",
    "e".concat("\u0301".repeat(500)),
    "İıſK",
    "ﬀ",
    "\u2028\u2029",
  ],
  ...[
    "'; DROP TABLE core.users; --",
    "$1",
    "\\",
    '"',
    "`id`",
    "$(id)",
    "%00",
    "%s%n",
    "../../etc/passwd",
    "{{7*7}}",
    "<script>",
  ],
  ...[
    "__proto__",
    "constructor",
    "toString",
    "null",
    "true",
    "NaN",
    "Infinity",
    "1e999",
    "0x10",
    "-0",
    "[]",
    "{}",
  ],
  ...["a".repeat(10_000), "🙂".repeat(5_000), "\0".repeat(1_000), "[".repeat(2_000)],
]

/** Spellings that a format admits or nearly admits, and that programs behind it may not. */
const formatTexts: Readonly<Record<string, readonly string[]>> = {
  uuid: [
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "01890A5D-AC96-774B-BCCE-B302099A8057",
    "urn:uuid:01890a5d-ac96-774b-bcce-b302099a8057",
    "{01890a5d-ac96-774b-bcce-b302099a8057}",
    "01890a5dac96774bbcceb302099a8057",
    "01890a5d-ac96-774b-bcce-b302099a8057 ",
  ],
  "date-time": [
    "0000-01-01T00:00:00Z",
    "0001-01-01T00:00:00+23:59",
    "1969-12-31T23:59:59Z",
    "2016-12-31T23:59:60Z",
    "2024-02-30T00:00:00Z",
    "2030-01-01t00:00:00z",
    "2030-01-01 00:00:00Z",
    "2030-01-01T00:00:00",
    "2030-01-01T00:00:00.123456789Z",
    "2030-06-30T23:59:60.999-00:00",
    "9999-12-31T23:59:59.999Z",
    "+275760-09-13T00:00:00Z",
  ],
  email: [
    "a@b.co",
    "A.B+c@Example.COM",
    "o'hara@example.com",
    `${"a".repeat(64)}@${"b".repeat(60)}.example.com`,
    `${"a".repeat(250)}@b.co`,
    "two@at@example.com",
    "a@[127.0.0.1]",
    '"a b"@example.com',
    "ada@exämple.com",
    "ada@localhost",
  ],
}

const hostileNumbers = [
  0,
  -0,
  -1,
  1.5,
  5e-324,
  2 ** 31,
  2 ** 53,
  -(2 ** 53),
  2 ** 63,
  1e21,
  1.7e308,
  INFINITE,
]

const json = fc.jsonValue({ maxDepth: 3, stringUnit: "binary" })

const nested = (levels: number): unknown => {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { value }
  return value
}

/** Any value at all, whatever was asked for. */
export const garbage: Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(...hostileTexts),
  fc.constantFrom<unknown>(...hostileNumbers),
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    [],
    {},
    [[]],
    [null],
    nested(62),
    nested(70),
    nested(1_000),
    Array(5_000).fill(0),
  ),
  fc.string({ unit: "binary", maxLength: 200 }),
  json,
)

const within = (text: string, { minLength = 0, maxLength = Infinity, pattern }: Schema): boolean => {
  const { length } = [...text]
  return (
    length >= minLength &&
    length <= maxLength &&
    (pattern === undefined || new RegExp(pattern, "u").test(text))
  )
}

const validText = (schema: Schema): Arbitrary<unknown> => {
  if (schema.format === "uuid") return fc.uuid()
  if (schema.format === "date-time")
    return fc
      .date({ noInvalidDate: true, min: new Date(0), max: new Date("2100-01-01") })
      .map(date => date.toISOString())
  if (schema.format === "email") return fc.uuid().map(id => `${id}@example.com`)
  const { minLength = 0, maxLength = Math.max(TEXT_MAX, minLength), pattern } = schema
  // Random text would seldom meet a pattern, and never one like a media type's.
  if (pattern !== undefined)
    return fc
      .stringMatching(new RegExp(pattern, "u"), { size: "xsmall" })
      .filter(text => within(text, schema))
  return fc
    .string({ unit: "grapheme", minLength, maxLength: Math.max(minLength, Math.min(maxLength, TEXT_MAX)) })
    .map(text => text || "x".repeat(minLength))
    .filter(text => within(text, schema))
}

const validNumber = ({ type, minimum = -1e6, maximum = 1e6 }: Schema): Arbitrary<unknown> =>
  type === "integer"
    ? fc.integer({ min: minimum, max: maximum })
    : fc.double({ min: minimum, max: maximum, noNaN: true })

const validArray = ({
  items = {},
  minItems = 0,
  maxItems = ITEMS_MAX,
  uniqueItems,
}: Schema): Arbitrary<unknown> => {
  const bounds = { minLength: minItems, maxLength: Math.max(minItems, Math.min(maxItems, ITEMS_MAX)) }
  return uniqueItems ? fc.uniqueArray(valid(items), bounds) : fc.array(valid(items), bounds)
}

/** An object whose names are data. */
const validDictionary = (names: Schema, values: Schema): Arbitrary<Record<string, unknown>> =>
  fc.dictionary(valid({ type: "string", ...names }) as Arbitrary<string>, valid(values), {
    maxKeys: ITEMS_MAX,
  })

const validObject = (schema: Schema): Arbitrary<Record<string, unknown>> => {
  const { properties = {}, required = [], propertyNames = {}, additionalProperties } = schema
  if (typeof additionalProperties === "object") return validDictionary(propertyNames, additionalProperties)
  return fc.record(
    Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, valid(schema)])),
    {
      requiredKeys: [...required],
    },
  )
}

/** A value that the schema admits. */
export const valid = (schema: Schema): Arbitrary<unknown> => {
  if ("const" in schema) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(valid))
  if (schema.type === "string") return validText(schema)
  if (schema.type === "integer" || schema.type === "number") return validNumber(schema)
  if (schema.type === "boolean") return fc.boolean()
  if (schema.type === "null") return fc.constant(null)
  if (schema.type === "array") return validArray(schema)
  if (schema.type === "object") return validObject(schema)
  return json
}

const boundaries = (schema: Schema): unknown[] => {
  const { minLength, maxLength, minimum, maximum, minItems, maxItems, format, anyOf = [] } = schema
  const around = (bound: number | undefined): number[] =>
    bound === undefined ? [] : [bound - 1, bound, bound + 1]
  const lengths = [...around(minLength), ...around(maxLength)].filter(length => length >= 0)
  const counts = [...around(minItems), ...around(maxItems)].filter(count => count >= 0)
  return [
    ...lengths.flatMap(length => ["x".repeat(length), "🙂".repeat(length)]),
    ...around(minimum),
    ...around(maximum),
    ...counts.map(count => Array(count).fill("x")),
    ...(formatTexts[format ?? ""] ?? []),
    ...anyOf.flatMap(boundaries),
  ]
}

/** A value on the edge of the schema, one that is wrong inside, or one that has nothing to do with it. */
const hostile = (schema: Schema): Arbitrary<unknown> => {
  const edges = boundaries(schema)
  const inner = (schema.anyOf ?? [schema]).flatMap(({ items, properties, additionalProperties }) => [
    ...(typeof additionalProperties === "object" ? [hostileDictionary(additionalProperties)] : []),
    ...(items ? [fc.array(fc.oneof(hostile(items), valid(items)), { maxLength: ITEMS_MAX })] : []),
    ...(properties ? [hostileFields({ properties })] : []),
  ])
  return fc.oneof(garbage, valid(schema), ...(edges.length > 0 ? [fc.constantFrom(...edges)] : []), ...inner)
}

const hostileDictionary = (values: Schema): Arbitrary<unknown> =>
  fc.dictionary(fc.constantFrom(...extraNames, "A"), fc.oneof(hostile(values), valid(values)), {
    maxKeys: ITEMS_MAX,
  })

const ABSENT = Symbol("absent")

type Change = readonly [name: string, value: unknown]

const extraNames = [
  "extra",
  "__proto__",
  "constructor",
  "tenant_id",
  "id",
  "",
  "a.b",
  "\0",
  "\ud800",
  "x".repeat(5_000),
]

/** Changes to fields of the object: hostile values, fields left out, fields that it does not have. */
const changes = ({ properties = {} }: Schema, countMax: number): Arbitrary<Change[]> => {
  const own = Object.entries(properties).flatMap(([name, schema]) => [
    fc.tuple(fc.constant(name), hostile(schema)),
    fc.tuple(fc.constant(name), fc.constant<unknown>(ABSENT)),
  ])
  const extra = fc.tuple(fc.constantFrom(...extraNames), garbage)
  return fc.array(
    fc.oneof({ weight: 4, arbitrary: fc.oneof(...own, extra) }, { weight: 1, arbitrary: extra }),
    { maxLength: countMax },
  )
}

const apply = (fields: Record<string, unknown>, changed: readonly Change[]): Record<string, unknown> => {
  const absent = new Set(changed.filter(([, value]) => value === ABSENT).map(([name]) => name))
  const present = [...Object.entries(fields), ...changed].filter(([name]) => !absent.has(name))
  return Object.fromEntries(present)
}

const hostileFields = (schema: Schema): Arbitrary<Record<string, unknown>> =>
  fc.tuple(validObject(schema), changes(schema, 1)).map(([fields, changed]) => apply(fields, changed))

/** Turns a fitting object, or the one that the test has at hand, into one that fits or does not. */
export type Spoil = (sample: Readonly<Record<string, unknown>> | undefined) => Record<string, unknown>

export const spoiled = (schema: Schema, changesMax: number): Arbitrary<Spoil> =>
  fc.tuple(validObject(schema), changes(schema, changesMax)).map(([fields, changed]) => {
    const spoil: Spoil = sample => apply(sample ?? fields, changed)
    return Object.assign(spoil, { [fc.toStringMethod]: () => fc.stringify([fields, changed]) })
  })
