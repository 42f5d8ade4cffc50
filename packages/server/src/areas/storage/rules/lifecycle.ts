/** Rules of a bucket by which objects, their older versions and uploads end by themselves. */
import { successorOf } from "./names.ts"

const DAY_MS = 86_400_000
export const LIFECYCLE_RULES_MAX = 1000
const ID_LENGTH_MAX = 255
const KEPT_MAX = 100
/** A whole number of days that a date can still hold. */
const DAYS_MAX = 36_500

/** Kept as the JSON API writes it. */
export interface LifecycleRule {
  readonly id: string
  readonly enabled: boolean
  readonly prefix?: string
  readonly tags?: Readonly<Record<string, string>>
  readonly size_greater_than?: number
  readonly size_less_than?: number
  readonly expire_days?: number
  /** Midnight in UTC. */
  readonly expire_at?: string
  readonly expire_delete_markers?: boolean
  readonly noncurrent_days?: number
  /** So many of the newest older versions stay, however old they are. */
  readonly noncurrent_keep?: number
  readonly abort_uploads_days?: number
}

export interface LifecycleProblem {
  readonly code: "InvalidArgument" | "InvalidRequest"
  readonly reason: string
}

const isWithin = (value: number | undefined, max: number) =>
  value === undefined || (Number.isInteger(value) && value >= 1 && value <= max)

const isMidnight = (text: string): boolean => Date.parse(text) % DAY_MS === 0

const hasTags = ({ tags }: LifecycleRule) => tags !== undefined && Object.keys(tags).length > 0
const hasSizes = (rule: LifecycleRule) =>
  rule.size_greater_than !== undefined || rule.size_less_than !== undefined

const argumentProblem = (rule: LifecycleRule): string | undefined => {
  if (rule.id === "" || rule.id.length > ID_LENGTH_MAX)
    return `the id of a rule has 1 to ${ID_LENGTH_MAX} characters`
  const days = [rule.expire_days, rule.noncurrent_days, rule.abort_uploads_days]
  if (!days.every(count => isWithin(count, DAYS_MAX)))
    return `days of ${rule.id} are a whole number from 1 to ${DAYS_MAX}`
  if (!isWithin(rule.noncurrent_keep, KEPT_MAX)) return `${rule.id} keeps 1 to ${KEPT_MAX} older versions`
  if (rule.expire_at !== undefined && !isMidnight(rule.expire_at))
    return `the date of ${rule.id} is not midnight in UTC`
  return undefined
}

const requestProblem = (rule: LifecycleRule): string | undefined => {
  const { id, expire_days, expire_at, expire_delete_markers, noncurrent_days, noncurrent_keep } = rule
  const ends = [expire_days, expire_at, expire_delete_markers].filter(end => end !== undefined)
  if (ends.length > 1)
    return `${id} expires by days, by a date or as a delete marker, and by one of these alone`
  if (noncurrent_keep !== undefined && noncurrent_days === undefined)
    return `${id} keeps older versions and does not say after how many days the others go`
  if (ends.length === 0 && noncurrent_days === undefined && rule.abort_uploads_days === undefined)
    return `${id} does nothing`
  if (expire_delete_markers !== undefined && (hasTags(rule) || hasSizes(rule)))
    return `delete markers have neither tags nor sizes, which ${id} asks for`
  if (rule.abort_uploads_days !== undefined && (hasTags(rule) || hasSizes(rule)))
    return `uploads have neither tags nor sizes, which ${id} asks for`
  const { size_greater_than: above, size_less_than: below } = rule
  if (above !== undefined && below !== undefined && above >= below)
    return `no size is one that ${id} asks for`
  return undefined
}

/** What is wrong with the rules of a bucket, if anything is. */
export const lifecycleProblem = (rules: readonly LifecycleRule[]): LifecycleProblem | undefined => {
  if (new Set(rules.map(({ id }) => id)).size < rules.length)
    return { code: "InvalidArgument", reason: "the ids of rules are not unique" }
  for (const rule of rules) {
    const argument = argumentProblem(rule)
    if (argument !== undefined) return { code: "InvalidArgument", reason: argument }
    const request = requestProblem(rule)
    if (request !== undefined) return { code: "InvalidRequest", reason: request }
  }
  return undefined
}

export interface Judged {
  readonly key: string
  readonly size: number
  readonly tags: Readonly<Record<string, string>>
  readonly lastModified: Date
}

const matches = (rule: LifecycleRule, { key, size, tags }: Omit<Judged, "lastModified">): boolean =>
  rule.enabled &&
  key.startsWith(rule.prefix ?? "") &&
  (rule.size_greater_than === undefined || size > rule.size_greater_than) &&
  (rule.size_less_than === undefined || size < rule.size_less_than) &&
  Object.entries(rule.tags ?? {}).every(([name, value]) => Object.hasOwn(tags, name) && tags[name] === value)

/** The midnight in UTC at which so many whole days have passed. */
const endOf = (from: Date, days: number): number =>
  Math.ceil((from.getTime() + days * DAY_MS) / DAY_MS) * DAY_MS

const expiryBy = ({ expire_days, expire_at }: LifecycleRule, from: Date): number | undefined => {
  if (expire_at !== undefined) return Date.parse(expire_at)
  return expire_days === undefined ? undefined : endOf(from, expire_days)
}

/** When the newest version of a key ends, and by which rule; undefined when it stays. */
export const expiryOf = (
  rules: readonly LifecycleRule[],
  object: Judged,
): { readonly at: number; readonly ruleId: string } | undefined =>
  rules
    .filter(rule => matches(rule, object))
    .flatMap(rule => {
      const at = expiryBy(rule, object.lastModified)
      return at === undefined ? [] : [{ at, ruleId: rule.id }]
    })
    .sort((one, other) => one.at - other.at)[0]

/** A delete marker that nothing is behind any more. */
export const isMarkerOver = (
  rules: readonly LifecycleRule[],
  marker: Pick<Judged, "key" | "lastModified">,
  nowMs: number,
): boolean =>
  rules.some(rule => {
    if (hasSizes(rule) || !matches(rule, { ...marker, size: 0, tags: {} })) return false
    return (
      rule.expire_delete_markers === true ||
      (expiryBy(rule, marker.lastModified) ?? Number.POSITIVE_INFINITY) <= nowMs
    )
  })

/** An older version, since it was replaced at `since`, with so many older versions that are newer than it. */
export const isVersionOver = (
  rules: readonly LifecycleRule[],
  version: Judged & { readonly since: Date; readonly newer: number },
  nowMs: number,
): boolean =>
  rules.some(
    rule =>
      rule.noncurrent_days !== undefined &&
      version.newer >= (rule.noncurrent_keep ?? 0) &&
      matches(rule, version) &&
      endOf(version.since, rule.noncurrent_days) <= nowMs,
  )

export const isUploadOver = (
  rules: readonly LifecycleRule[],
  upload: { readonly key: string; readonly createdAt: Date },
  nowMs: number,
): boolean =>
  rules.some(
    rule =>
      rule.abort_uploads_days !== undefined &&
      matches(rule, { ...upload, size: 0, tags: {} }) &&
      endOf(upload.createdAt, rule.abort_uploads_days) <= nowMs,
  )

/** Of keys: from the first, and below the other where there is a highest. */
export interface KeyRange {
  readonly from: string
  readonly below: string | undefined
}

/** Which keys the rules that do something of a kind are about; none of them twice. */
export const rangesOf = (
  rules: readonly LifecycleRule[],
  isOfKind: (rule: LifecycleRule) => boolean,
): KeyRange[] => {
  const prefixes = new Set(
    rules.filter(rule => rule.enabled && isOfKind(rule)).map(({ prefix = "" }) => prefix),
  )
  return [...prefixes]
    .filter(prefix => ![...prefixes].some(other => other !== prefix && prefix.startsWith(other)))
    .map(prefix => ({ from: prefix, below: successorOf(prefix) }))
}
