/** Conditional requests: RFC 9110, section 13. */
import type { Conditions } from "../object-store.ts"

type ReadHeader = (name: string) => string | undefined

const ETAG = /(W\/)?"([^"]*)"|[^\s,"]+/g

/** Tags without their quotes. Weak ones keep their mark where only strong ones count, so that they match nothing. */
const parseTags = (text: string | undefined, weak: "accept" | "keep"): string[] | undefined => {
  if (text === undefined) return undefined
  return [...text.matchAll(ETAG)].map(([whole, mark, tag]) =>
    tag === undefined || (mark !== undefined && weak === "keep") ? whole : tag,
  )
}

/** A date that is none is no condition (13.1.3). */
const parseHttpDate = (text: string | undefined): Date | undefined => {
  const ms = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(ms) ? undefined : new Date(ms)
}

export const parseConditions = (header: ReadHeader): Conditions | undefined => {
  const ifMatch = parseTags(header("if-match"), "keep")
  const ifNoneMatch = parseTags(header("if-none-match"), "accept")
  const ifModifiedSince = parseHttpDate(header("if-modified-since"))
  const ifUnmodifiedSince = parseHttpDate(header("if-unmodified-since"))
  if (!(ifMatch || ifNoneMatch || ifModifiedSince || ifUnmodifiedSince)) return undefined
  return {
    ...(ifMatch && { ifMatch }),
    ...(ifNoneMatch && { ifNoneMatch }),
    ...(ifModifiedSince && { ifModifiedSince }),
    ...(ifUnmodifiedSince && { ifUnmodifiedSince }),
  }
}

interface State {
  readonly etag: string
  readonly lastModified: Date
}

const names = (tags: readonly string[], { etag }: State): boolean => tags.includes("*") || tags.includes(etag)

/** Times in HTTP are whole seconds. */
const seconds = (time: Date): number => Math.floor(time.getTime() / 1000)

const isAsDemanded = ({ ifMatch, ifUnmodifiedSince }: Conditions, state: State): boolean => {
  if (ifMatch) return names(ifMatch, state)
  return !ifUnmodifiedSince || seconds(state.lastModified) <= seconds(ifUnmodifiedSince)
}

/** What a read answers, in the order of 13.2.2: `failed` is 412, `not_modified` 304. */
export const judgeRead = (
  conditions: Conditions | undefined,
  state: State,
): "go_on" | "not_modified" | "failed" => {
  if (!conditions) return "go_on"
  if (!isAsDemanded(conditions, state)) return "failed"
  const { ifNoneMatch, ifModifiedSince } = conditions
  if (ifNoneMatch) return names(ifNoneMatch, state) ? "not_modified" : "go_on"
  return ifModifiedSince && seconds(state.lastModified) <= seconds(ifModifiedSince) ? "not_modified" : "go_on"
}

/** Whether a write may go on; undefined: nothing is there. The database decides by the same rule, in `storage.holds`. */
export const admitsWrite = (conditions: Conditions | undefined, state: State | undefined): boolean => {
  if (!conditions) return true
  if (!state) return !conditions.ifMatch
  return isAsDemanded(conditions, state) && !(conditions.ifNoneMatch && names(conditions.ifNoneMatch, state))
}

/** Whether a `Range` still means the same object (13.1.5): by a strong tag, or by exactly its date. */
export const isSameForRange = (ifRange: string | undefined, state: State): boolean => {
  if (ifRange === undefined) return true
  if (/^(W\/)?"/.test(ifRange)) return ifRange === `"${state.etag}"`
  const date = parseHttpDate(ifRange)
  return date !== undefined ? seconds(date) === seconds(state.lastModified) : ifRange === state.etag
}
