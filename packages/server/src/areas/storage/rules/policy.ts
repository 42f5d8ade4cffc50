/** Policies of buckets, in the language of S3: who may do what to which objects, and under which conditions. */
import { BlockList, isIP } from "node:net"

type Values = readonly string[]

interface Condition {
  readonly operator: string
  readonly key: string
  readonly values: Values
}

/** Patterns of what a statement is about, or of everything but that. */
interface Patterns {
  readonly isNegated: boolean
  readonly patterns: Values
}

interface Statement {
  readonly isDeny: boolean
  readonly principals: Patterns
  readonly actions: Patterns
  readonly resources: Patterns
  readonly conditions: readonly Condition[]
}

export interface Policy {
  readonly statements: readonly Statement[]
}

export interface PolicyRequest {
  /** All names of the caller; none when it is anybody. */
  readonly principals: Values
  /** `s3:GetObject` */
  readonly action: string
  /** `bucket`, or `bucket/key`. */
  readonly resource: string
  /** Values of the keys that conditions name, in lower case; undefined where the request has none. */
  readonly valuesOf: (key: string) => Values | undefined
}

export const BUCKET_POLICY_BYTES_MAX = 20 * 1024
const ARN = "arn:aws:s3:::"

/** What is wrong with a policy. */
export class PolicyProblem extends Error {}

const problem = (reason: string): never => {
  throw new PolicyProblem(reason)
}

/** `*` and `?` as in S3, in time that grows with the product of both lengths and no further. */
export const matches = (pattern: string, value: string): boolean => {
  let at = 0
  let from = 0
  let star = -1
  let mark = 0
  while (from < value.length) {
    const sign = pattern[at]
    if (sign === "*") {
      star = at++
      mark = from
    } else if (sign !== undefined && (sign === "?" || sign === value[from])) {
      at++
      from++
    } else if (star >= 0) {
      at = star + 1
      from = ++mark
    } else return false
  }
  while (pattern[at] === "*") at++
  return at === pattern.length
}

const asTime = (text: string): number => (/^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text))

const inNetwork = (network: string, address: string): boolean => {
  const [base = "", bits] = network.split("/")
  const version = isIP(base)
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, "")
  if (version === 0 || isIP(plain) !== version) return false
  const family = version === 4 ? "ipv4" : "ipv6"
  const list = new BlockList()
  list.addSubnet(base, bits === undefined ? (version === 4 ? 32 : 128) : Number(bits), family)
  return list.check(plain, family)
}

const isNetwork = (text: string): boolean => {
  const [base = "", bits, ...more] = text.split("/")
  const version = isIP(base)
  const max = version === 4 ? 32 : 128
  return (
    version > 0 &&
    more.length === 0 &&
    (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= max))
  )
}

type Test = (wanted: string, value: string) => boolean

const lower =
  (test: Test): Test =>
  (wanted, value) =>
    test(wanted.toLowerCase(), value.toLowerCase())
const equals: Test = (wanted, value) => wanted === value
const numbers =
  (test: (wanted: number, value: number) => boolean): Test =>
  (wanted, value) =>
    test(Number(wanted), Number(value))
const times =
  (test: (wanted: number, value: number) => boolean): Test =>
  (wanted, value) =>
    test(asTime(wanted), asTime(value))

/** What is true of a value that one of the wanted ones fits. */
const TESTS: Readonly<Record<string, Test>> = {
  StringEquals: equals,
  StringEqualsIgnoreCase: lower(equals),
  StringLike: matches,
  ArnEquals: matches,
  ArnLike: matches,
  Bool: lower(equals),
  BinaryEquals: equals,
  IpAddress: inNetwork,
  NumericEquals: numbers((wanted, value) => value === wanted),
  NumericLessThan: numbers((wanted, value) => value < wanted),
  NumericLessThanEquals: numbers((wanted, value) => value <= wanted),
  NumericGreaterThan: numbers((wanted, value) => value > wanted),
  NumericGreaterThanEquals: numbers((wanted, value) => value >= wanted),
  DateEquals: times((wanted, value) => value === wanted),
  DateLessThan: times((wanted, value) => value < wanted),
  DateLessThanEquals: times((wanted, value) => value <= wanted),
  DateGreaterThan: times((wanted, value) => value > wanted),
  DateGreaterThanEquals: times((wanted, value) => value >= wanted),
}

/** Operators that hold when no wanted value fits, and what would have to fit. */
const NEGATED: Readonly<Record<string, string>> = {
  StringNotEquals: "StringEquals",
  StringNotEqualsIgnoreCase: "StringEqualsIgnoreCase",
  StringNotLike: "StringLike",
  ArnNotEquals: "ArnEquals",
  ArnNotLike: "ArnLike",
  NotIpAddress: "IpAddress",
  NumericNotEquals: "NumericEquals",
  DateNotEquals: "DateEquals",
}

interface Operator {
  readonly test: Test | "null"
  readonly isNegated: boolean
  readonly ifExists: boolean
  readonly ofSet: "all" | "any" | undefined
}

const readOperator = (written: string): Operator => {
  const [, set, name = "", exists] = /^(?:(ForAllValues|ForAnyValue):)?(\w+?)(IfExists)?$/.exec(written) ?? []
  const ofSet = set === undefined ? undefined : set === "ForAllValues" ? "all" : "any"
  const shared = { ifExists: exists !== undefined, ofSet } as const
  if (name === "Null") return { test: "null", isNegated: false, ...shared }
  const test = TESTS[Object.hasOwn(NEGATED, name) ? (NEGATED[name] ?? "") : name]
  if (!test || !Object.hasOwn(Object.hasOwn(NEGATED, name) ? NEGATED : TESTS, name))
    return problem(`there is no condition ${written}`)
  return { test, isNegated: Object.hasOwn(NEGATED, name), ...shared }
}

const holds = ({ operator, key, values: wanted }: Condition, { valuesOf }: PolicyRequest): boolean => {
  const { test, isNegated, ifExists, ofSet } = readOperator(operator)
  const given = valuesOf(key)
  if (test === "null") return wanted.some(value => (value === "true") === (given === undefined))
  if (given === undefined) return ifExists || ofSet === "all" || (isNegated && ofSet === undefined)
  const fits = (value: string) => wanted.some(one => test(one, value)) !== isNegated
  return ofSet === "all" || (isNegated && ofSet === undefined) ? given.every(fits) : given.some(fits)
}

const fitsAny = ({ isNegated, patterns }: Patterns, values: Values): boolean =>
  patterns.some(pattern => values.some(value => matches(pattern, value))) !== isNegated

/** `*` is everybody, whether with a name or without. */
const isNamed = ({ isNegated, patterns }: Patterns, names: Values): boolean =>
  patterns.some(pattern => pattern === "*" || names.includes(pattern)) !== isNegated

const applies = (statement: Statement, request: PolicyRequest): boolean =>
  isNamed(statement.principals, request.principals) &&
  fitsAny(statement.actions, [request.action.toLowerCase()]) &&
  fitsAny(statement.resources, [request.resource]) &&
  statement.conditions.every(condition => holds(condition, request))

/** A statement that denies is above all that allow. */
export const decide = (policy: Policy, request: PolicyRequest): "allow" | "deny" | "silent" => {
  const found = policy.statements.filter(statement => applies(statement, request))
  if (found.some(({ isDeny }) => isDeny)) return "deny"
  return found.length > 0 ? "allow" : "silent"
}

/** Conditions that leave so few callers that what is allowed to everybody under them is not public. */
const NARROW =
  /^(?:aws:(?:sourceip|sourcearn|sourceaccount|principalarn|userid|principalorgid)|s3:dataaccesspoint\w+)$/

/** Whether it allows something to everybody. */
export const isPublicPolicy = ({ statements }: Policy): boolean =>
  statements.some(
    ({ isDeny, principals, conditions }) =>
      !isDeny &&
      (principals.isNegated || principals.patterns.includes("*")) &&
      !conditions.some(
        ({ key, values }) =>
          NARROW.test(key) && values.every(value => !/^(?:\*|0\.0\.0\.0\/0|::\/0)$/.test(value)),
      ),
  )

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const textsOf = (value: unknown, what: string): Values => {
  const list = Array.isArray(value) ? value : [value]
  const texts = list.map(one =>
    typeof one === "string"
      ? one
      : typeof one === "boolean" || typeof one === "number"
        ? String(one)
        : problem(`${what} is no text`),
  )
  return texts.length > 0 ? texts : problem(`${what} is empty`)
}

const readPrincipals = (value: unknown): Values => {
  if (value === "*") return ["*"]
  if (!isRecord(value) || Object.keys(value).some(name => name !== "AWS" && name !== "CanonicalUser"))
    return problem('Principal is "*" or has AWS or CanonicalUser')
  return Object.values(value)
    .flatMap(one => textsOf(one, "Principal"))
    .map(one => (one === "*" ? one : literal(one)))
}

/** A principal is named in full: what looks like a pattern in it is none. */
const literal = (name: string): string =>
  /[*?]/.test(name) ? problem("a principal is * or a name without * and ?") : name

/** One of two fields, the second of which means everything but what it has. */
const either = (
  statement: Readonly<Record<string, unknown>>,
  field: string,
  read: (value: unknown) => Values,
): Patterns => {
  const isNegated = Object.hasOwn(statement, `Not${field}`)
  if (isNegated === Object.hasOwn(statement, field)) return problem(`a statement has ${field} or Not${field}`)
  return { isNegated, patterns: read(statement[isNegated ? `Not${field}` : field]) }
}

const readConditions = (value: unknown): Condition[] => {
  if (value === undefined) return []
  if (!isRecord(value)) return problem("Condition is no object")
  return Object.entries(value).flatMap(([operator, keys]) => {
    readOperator(operator)
    if (!isRecord(keys)) return problem(`${operator} is no object`)
    return Object.entries(keys).map(([key, given]) => {
      const values = textsOf(given, key)
      if (operator.includes("IpAddress") && !values.every(isNetwork)) problem(`${key} is no address`)
      return { operator, key: key.toLowerCase(), values }
    })
  })
}

const readResources =
  (bucket: string) =>
  (value: unknown): Values =>
    textsOf(value, "Resource").map(arn => {
      const resource = arn.startsWith(ARN) ? arn.slice(ARN.length) : problem(`Resource begins with ${ARN}`)
      const [name = ""] = resource.split("/", 1)
      return matches(name, bucket) ? resource : problem("Resource is of another bucket")
    })

const readActions = (value: unknown): Values =>
  textsOf(value, "Action").map(action =>
    action === "*" || /^s3:[\w*?]+$/i.test(action)
      ? action.toLowerCase()
      : problem("Action is of the form s3:GetObject"),
  )

const FIELDS: ReadonlySet<string> = new Set([
  ...[
    "Sid",
    "Effect",
    "Principal",
    "NotPrincipal",
    "Action",
    "NotAction",
    "Resource",
    "NotResource",
    "Condition",
  ],
])

const readStatement = (value: unknown, bucket: string): Statement => {
  if (!isRecord(value)) return problem("a statement is no object")
  const unknown = Object.keys(value).find(name => !FIELDS.has(name))
  if (unknown !== undefined) return problem(`a statement has no ${unknown}`)
  if (value.Effect !== "Allow" && value.Effect !== "Deny") return problem("Effect is Allow or Deny")
  return {
    isDeny: value.Effect === "Deny",
    principals: either(value, "Principal", readPrincipals),
    actions: either(value, "Action", readActions),
    resources: either(value, "Resource", readResources(bucket)),
    conditions: readConditions(value.Condition),
  }
}

/** Reads the policy of that bucket. Throws PolicyProblem. */
export const readPolicy = (text: string, bucket: string): Policy => {
  if (Buffer.byteLength(text) > BUCKET_POLICY_BYTES_MAX)
    return problem(`a policy has at most ${BUCKET_POLICY_BYTES_MAX} bytes`)
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return problem("it is no JSON")
  }
  if (!isRecord(parsed)) return problem("it is no object")
  const { Version = "2008-10-17", Statement: given } = parsed
  if (Version !== "2012-10-17" && Version !== "2008-10-17")
    return problem("Version is 2012-10-17 or 2008-10-17")
  const statements = (Array.isArray(given) ? given : [given]).map(one => readStatement(one, bucket))
  return statements.length > 0 ? { statements } : problem("there is no statement")
}
