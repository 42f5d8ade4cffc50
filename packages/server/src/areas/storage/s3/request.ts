/** One request of an S3 client, as its handlers see it. */
import type { Reply } from "@svc/contract"
import type { AccountCall, Call } from "../../../kernel/call.ts"
import { fault } from "../../../kernel/fault.ts"
import type { ObjectStore, Place } from "../object-store.ts"
import type { LifecycleRule } from "../rules/lifecycle.ts"
import { s3Fault } from "./errors.ts"
import { document, NAMESPACE, text } from "./xml.ts"

export type Query = Readonly<Record<string, unknown>>

/** What handlers need of a call. */
export type S3Call = Pick<
  Call,
  "header" | "headerNames" | "signed" | "principal" | "now" | "stream" | "signal" | "meter"
>

/** Headers that presigned URLs carry in their query. Checksums there are of no body: the URL was signed before there was one. */
const HOISTED = /^x-amz-(?!checksum-|sdk-|content-sha256)/

/** The call with headers from wherever its signature covers them. */
export const s3CallOf = (call: AccountCall, query: Query, meter: Call["meter"] = call.meter): S3Call => {
  const { header, headerNames, signed, principal, now } = call
  const isPresigned =
    signed !== null && (Object.hasOwn(query, "X-Amz-Signature") || Object.hasOwn(query, "AWSAccessKeyId"))
  const hoisted = isPresigned ? Object.keys(query).filter(name => HOISTED.test(name)) : []
  return {
    ...{ signed, principal, now, meter },
    header: name => header(name) ?? (hoisted.includes(name) ? fieldOf(query, name) : undefined),
    headerNames: () => [...headerNames(), ...hoisted],
    get stream() {
      return call.stream
    },
    get signal() {
      return call.signal
    },
  }
}

export interface S3Request {
  readonly call: S3Call
  readonly store: ObjectStore
  readonly place: Place
  /** Empty where the path names none. */
  readonly bucket: string
  readonly key: string
  readonly query: Query
  /** Rules of the bucket by which its objects end. */
  readonly lifecycle?: readonly LifecycleRule[] | undefined
}

export type S3Handler = (request: S3Request) => Promise<Reply>

/** Of a field that came twice, the first. */
export const fieldOf = (query: Query, name: string): string | undefined => {
  const value = Object.hasOwn(query, name) ? query[name] : undefined
  const first = Array.isArray(value) ? value[0] : value
  return typeof first === "string" ? first : undefined
}

/** Fields without a value count as absent: some clients send `prefix=`. */
export const givenOf = (query: Query, name: string): string | undefined => fieldOf(query, name) || undefined

export const countOf = (query: Query, name: string, max: number): number => {
  const text = givenOf(query, name)
  if (text === undefined) return max
  if (!/^\d{1,10}$/.test(text)) throw s3Fault("InvalidArgument", `${name} must be a whole number`)
  return Math.min(Number(text), max)
}

export const notImplemented: S3Handler = async () => {
  throw fault("not_implemented")
}

/** An answer in XML. */
export const xml = (
  root: string,
  children: readonly string[],
  headers: Readonly<Record<string, string>> = {},
): Reply => ({
  status: 200,
  body: Buffer.from(document(root, NAMESPACE, children)),
  headers: { "content-type": "application/xml", ...headers },
})

/** Whose everything in a project is. */
export const ownerOf = ({ place }: S3Request): string[] => [
  text("ID", place.projectId),
  text("DisplayName", place.organization.name),
]

export const quoted = (etag: string): string => `"${etag}"`
/** ETags are compared without their quotes, which some clients leave out. */
export const unquoted = (etag: string): string => etag.trim().replace(/^"(.*)"$/, "$1")
