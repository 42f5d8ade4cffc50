/** Lifecycle rules of a bucket in XML, and what replies tell of an object's end. */
import { randomUUID } from "node:crypto"
import type { ObjectRecord } from "../object-store.ts"
import { expiryOf, LIFECYCLE_RULES_MAX, type LifecycleRule, lifecycleProblem } from "../rules/lifecycle.ts"
import { readBody } from "./body.ts"
import { s3Fault } from "./errors.ts"
import { type S3Handler, type S3Request, xml } from "./request.ts"
import { element, optional, text } from "./xml.ts"
import { childrenOf, parseXml, textOf } from "./xml-body.ts"

type Node = Parameters<typeof textOf>[0]

const PUT_ACTION = "s3:PutLifecycleConfiguration"

const malformed = (reason: string) => s3Fault("MalformedXML", reason)

const numberOf = (node: Node, name: string): number | undefined => {
  const given = textOf(node, name)?.trim()
  if (given === undefined) return undefined
  if (!/^-?\d{1,15}$/.test(given)) throw malformed(`${name} is a whole number`)
  return Number(given)
}

const dateOf = (node: Node): string | undefined => {
  const given = textOf(node, "Date")?.trim()
  if (given === undefined) return undefined
  if (!/^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(given) || Number.isNaN(Date.parse(given)))
    throw malformed("Date is a date of ISO 8601")
  return new Date(given).toISOString()
}

/** Only the fields that have a value. */
const given = <Fields extends object>(fields: Fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    readonly [Name in keyof Fields]?: NonNullable<Fields[Name]>
  }

const readTags = (nodes: readonly Node[]): Readonly<Record<string, string>> => {
  const pairs = nodes.map(tag => [textOf(tag, "Key") ?? "", textOf(tag, "Value") ?? ""] as const)
  if (new Set(pairs.map(([key]) => key)).size < pairs.length)
    throw s3Fault("InvalidRequest", "a tag of a filter comes twice")
  return Object.fromEntries(pairs)
}

const CRITERIA = ["Prefix", "Tag", "ObjectSizeGreaterThan", "ObjectSizeLessThan", "And"] as const

const readFilter = (rule: Node): Partial<LifecycleRule> => {
  const [filter] = childrenOf(rule, "Filter")
  if (!filter) return given({ prefix: textOf(rule, "Prefix") || undefined })
  if (Object.hasOwn(rule, "Prefix")) throw malformed("a rule has Filter or Prefix")
  const criteria = CRITERIA.filter(name => Object.hasOwn(filter, name))
  if (criteria.length > 1) throw malformed("a filter has one criterion; several are in And")
  const [and] = childrenOf(filter, "And")
  const from = and ?? filter
  const tags = childrenOf(from, "Tag")
  if (!and && tags.length > 1) throw malformed("several tags are in And")
  const sizes = [numberOf(from, "ObjectSizeGreaterThan"), numberOf(from, "ObjectSizeLessThan")] as const
  if (sizes.some(size => size !== undefined && size < 0))
    throw s3Fault("InvalidArgument", "a size is below 0")
  return given({
    prefix: textOf(from, "Prefix") || undefined,
    tags: tags.length > 0 ? readTags(tags) : undefined,
    size_greater_than: sizes[0],
    size_less_than: sizes[1],
  })
}

/** Objects stay where they are: there is one class of storage. */
const TRANSITIONS = ["Transition", "NoncurrentVersionTransition"] as const

const readRule = (rule: Node): LifecycleRule => {
  const status = textOf(rule, "Status")
  if (status !== "Enabled" && status !== "Disabled") throw malformed("Status is Enabled or Disabled")
  const moved = TRANSITIONS.find(name => Object.hasOwn(rule, name))
  if (moved !== undefined)
    throw s3Fault("NotImplemented", `${moved}: there are no other storage classes to move objects to`)
  const [expiration = {}] = childrenOf(rule, "Expiration")
  const [noncurrent = {}] = childrenOf(rule, "NoncurrentVersionExpiration")
  const [abort = {}] = childrenOf(rule, "AbortIncompleteMultipartUpload")
  const marker = textOf(expiration, "ExpiredObjectDeleteMarker")?.trim()
  if (marker !== undefined && marker !== "true" && marker !== "false")
    throw malformed("ExpiredObjectDeleteMarker is true or false")
  return {
    id: textOf(rule, "ID") || randomUUID(),
    enabled: status === "Enabled",
    ...readFilter(rule),
    ...given({
      expire_days: numberOf(expiration, "Days"),
      expire_at: dateOf(expiration),
      expire_delete_markers: marker === undefined ? undefined : marker === "true",
      noncurrent_days: numberOf(noncurrent, "NoncurrentDays"),
      noncurrent_keep: numberOf(noncurrent, "NewerNoncurrentVersions"),
      abort_uploads_days: numberOf(abort, "DaysAfterInitiation"),
    }),
  }
}

export const putLifecycle: S3Handler = async ({ call, store, place, bucket }) => {
  const root = await parseXml(await readBody(call), "LifecycleConfiguration")
  const nodes = childrenOf(root, "Rule")
  if (nodes.length === 0 || nodes.length > LIFECYCLE_RULES_MAX)
    throw malformed(`there are 1 to ${LIFECYCLE_RULES_MAX} rules`)
  const rules = nodes.map(readRule)
  const problem = lifecycleProblem(rules)
  if (problem) throw s3Fault(problem.code, problem.reason)
  await store.setSettings(place, bucket, { lifecycle: rules }, PUT_ACTION)
  return { status: 200, body: undefined }
}

const filterOf = (rule: LifecycleRule): string => {
  const criteria = [
    optional("Prefix", rule.prefix),
    ...Object.entries(rule.tags ?? {}).map(([key, value]) =>
      element("Tag", [text("Key", key), text("Value", value)]),
    ),
    optional("ObjectSizeGreaterThan", rule.size_greater_than),
    optional("ObjectSizeLessThan", rule.size_less_than),
  ].filter(criterion => criterion !== "")
  if (criteria.length === 0) return element("Filter", [text("Prefix", "")])
  return element("Filter", criteria.length === 1 ? criteria : [element("And", criteria)])
}

/** An element that holds something, or nothing. */
const holding = (name: string, children: readonly string[]): string =>
  children.every(child => child === "") ? "" : element(name, children)

export const getLifecycle: S3Handler = async ({ store, place, bucket }) => {
  const { lifecycle } = await store.findSettings(place, bucket, "s3:GetLifecycleConfiguration")
  if (!lifecycle) throw s3Fault("NoSuchLifecycleConfiguration")
  return xml(
    "LifecycleConfiguration",
    lifecycle.map(rule =>
      element("Rule", [
        text("ID", rule.id),
        filterOf(rule),
        text("Status", rule.enabled ? "Enabled" : "Disabled"),
        holding("Expiration", [
          optional("Days", rule.expire_days),
          optional("Date", rule.expire_at),
          optional("ExpiredObjectDeleteMarker", rule.expire_delete_markers),
        ]),
        holding("NoncurrentVersionExpiration", [
          optional("NoncurrentDays", rule.noncurrent_days),
          optional("NewerNoncurrentVersions", rule.noncurrent_keep),
        ]),
        holding("AbortIncompleteMultipartUpload", [optional("DaysAfterInitiation", rule.abort_uploads_days)]),
      ]),
    ),
  )
}

export const deleteLifecycle: S3Handler = async ({ store, place, bucket }) => {
  await store.setSettings(place, bucket, { lifecycle: null }, PUT_ACTION)
  return { status: 204, body: undefined }
}

/** When the newest version of a key ends, where a rule says so. */
export const expirationHeaders = (
  { lifecycle }: Pick<S3Request, "lifecycle">,
  object: ObjectRecord,
): Readonly<Record<string, string>> => {
  const expiry = lifecycle && expiryOf(lifecycle, object)
  if (!expiry) return {}
  const date = new Date(expiry.at).toUTCString()
  return { "x-amz-expiration": `expiry-date="${date}", rule-id="${encodeURIComponent(expiry.ruleId)}"` }
}
