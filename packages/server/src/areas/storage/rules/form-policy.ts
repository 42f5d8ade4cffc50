/** Policies of forms: until when, and with which fields, whoever has a signed form may post it. */

interface FormPolicy {
  readonly expiresMs: number
  readonly conditions: readonly Condition[]
  /** Of the file. */
  readonly bytes: { readonly min: number; readonly max: number }
}

interface Condition {
  readonly test: "eq" | "starts-with"
  readonly field: string
  readonly value: string
}

const RANGE = "content-length-range"

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isCount = (value: unknown): boolean => /^\d{1,15}$/.test(String(value))

const readCondition = (given: unknown): Condition[] | undefined => {
  if (isRecord(given)) {
    const pairs = Object.entries(given)
    if (pairs.length !== 1 || pairs.some(([, value]) => typeof value !== "string")) return undefined
    return pairs.map(([field, value]) => ({ test: "eq", field: field.toLowerCase(), value: String(value) }))
  }
  if (!Array.isArray(given) || given.length !== 3) return undefined
  const [operator, field, value] = given as unknown[]
  const test = typeof operator === "string" ? operator.toLowerCase() : ""
  if (test !== "eq" && test !== "starts-with") return undefined
  if (typeof field !== "string" || !field.startsWith("$") || typeof value !== "string") return undefined
  return [{ test, field: field.slice(1).toLowerCase(), value }]
}

const isRange = (given: unknown): given is readonly [string, unknown, unknown] =>
  Array.isArray(given) && String(given[0]).toLowerCase() === RANGE

/** Undefined where it cannot be understood. */
export const readFormPolicy = (encoded: string): FormPolicy | undefined => {
  let parsed: unknown
  try {
    parsed = JSON.parse(Buffer.from(encoded, "base64").toString())
  } catch {
    return undefined
  }
  if (!isRecord(parsed) || typeof parsed.expiration !== "string" || !Array.isArray(parsed.conditions))
    return undefined
  const given: readonly unknown[] = parsed.conditions
  const ranges = given.filter(isRange)
  const conditions = given.filter(one => !isRange(one)).map(readCondition)
  const areRanges = ranges.every(one => one.length === 3 && isCount(one[1]) && isCount(one[2]))
  if (!areRanges || conditions.includes(undefined) || !/^\d{4}-\d\d-\d\dT/.test(parsed.expiration))
    return undefined
  const expiresMs = Date.parse(parsed.expiration)
  if (Number.isNaN(expiresMs)) return undefined
  return {
    expiresMs,
    conditions: conditions.flatMap(one => one ?? []),
    bytes: {
      min: Math.max(0, ...ranges.map(([, min]) => Number(min))),
      max: Math.min(Number.MAX_SAFE_INTEGER, ...ranges.map(([, , max]) => Number(max))),
    },
  }
}

/** Fields that no condition has to name. */
const FREE = /^(?:awsaccesskeyid|signature|x-amz-signature|policy|file|x-ignore-.*)$/

const fits = ({ test, value }: Condition, given: string): boolean =>
  test === "eq" ? given === value : given.startsWith(value)

/** What of the form the policy does not allow, or undefined. Every field must be named by a condition. */
export const formProblem = (
  { conditions }: FormPolicy,
  fields: ReadonlyMap<string, string>,
): string | undefined => {
  const failed = conditions.find(one => !fits(one, fields.get(one.field) ?? ""))
  if (failed) return `the field ${failed.field} is not as the policy says`
  const named = new Set(conditions.map(({ field }) => field))
  const loose = [...fields.keys()].find(name => !FREE.test(name) && !named.has(name))
  return loose === undefined ? undefined : `the policy does not name the field ${loose}`
}
