/** The reply to a read over HTTP, whichever way the caller got there: by key, by signed URL, or from a public bucket. */
import type { Readable } from "node:stream"
import { reply } from "@svc/contract"
import { parseRange } from "../../kernel/byte-ranges.ts"
import type { Call } from "../../kernel/call.ts"
import { fault } from "../../kernel/fault.ts"
import type { ByteRange } from "../../ports/blob/port.ts"
import type { HttpMetadata, ObjectRecord, ObjectStore, Place } from "./object-store.ts"
import { attributeHeaders } from "./rules/attributes.ts"
import { isSameForRange, judgeRead, parseConditions } from "./rules/conditions.ts"

export interface Download {
  readonly place: Place
  readonly bucket: string
  readonly key: string
  /** The newest when left out. */
  readonly version?: string | undefined
  readonly header: Call["header"]
  /** In the place of the stored headers. */
  readonly http?: HttpMetadata
  /** Where the object does not say itself. */
  readonly cacheControl: string
  /** Throws where this caller may not read that object after all. */
  readonly check?: (object: ObjectRecord) => void
}

/**
 * What tenants store is not ours: a page of theirs runs as a stranger, without the console's cookies and storage, and
 * nothing is taken for a page that is not called one.
 */
export const ISOLATION = {
  "content-security-policy": "sandbox",
  "x-content-type-options": "nosniff",
} as const

type DownloadDecision =
  | { readonly status: 304 }
  | { readonly status: 200 | 206; readonly range: ByteRange | "all" }

const judge = ({ header }: Download, object: ObjectRecord, ranged: boolean): DownloadDecision => {
  const verdict = judgeRead(parseConditions(header), object)
  if (verdict === "failed") throw fault("precondition_failed")
  if (verdict === "not_modified") return { status: 304 }
  const wanted = header("range")
  if (!ranged || wanted === undefined || !isSameForRange(header("if-range"), object))
    return { status: 200, range: "all" }
  const range = parseRange(wanted, object.size)
  if (range === "unsatisfiable")
    throw fault("range_not_satisfiable", undefined, {
      headers: { "content-range": `bytes */${object.size}`, "accept-ranges": "bytes" },
    })
  return { status: range === "all" ? 200 : 206, range }
}

const headersOf = ({ http, cacheControl }: Download, object: ObjectRecord): Record<string, string> => ({
  "cache-control": cacheControl,
  ...attributeHeaders({ ...object, http: { ...object.http, ...http } }),
  ...ISOLATION,
  etag: `"${object.etag}"`,
  "last-modified": object.lastModified.toUTCString(),
  "accept-ranges": "bytes",
})

const lengthHeaders = ({ size }: ObjectRecord, range: ByteRange | "all"): Record<string, string> =>
  range === "all"
    ? { "content-length": String(size) }
    : {
        "content-length": String(range.end - range.start + 1),
        "content-range": `bytes ${range.start}-${range.end}/${size}`,
      }

export const bytesOf = (object: ObjectRecord, range: ByteRange | "all"): number =>
  range === "all" ? object.size : range.end - range.start + 1

/** `sent` hears how many bytes leave. */
export const answerGet = async (store: ObjectStore, download: Download, sent: (bytes: number) => void) => {
  const { place, bucket, key, version, check } = download
  let verdict: DownloadDecision = { status: 304 }
  const choose = (object: ObjectRecord) => {
    check?.(object)
    verdict = judge(download, object, true)
    return verdict.status === 304 ? "none" : verdict.range
  }
  const { object, body } = await store.open(place, bucket, key, choose, version)
  // What the closure chose, which the compiler cannot see.
  const chosen = verdict as DownloadDecision
  const headers = headersOf(download, object)
  if (chosen.status === 304 || body === null) return reply(304, undefined, headers)
  sent(bytesOf(object, chosen.range))
  const { status, range } = chosen
  return reply<200 | 206, Readable>(status, body, { ...headers, ...lengthHeaders(object, range) })
}

/** The headers that GET would send. */
export const answerHead = async (store: ObjectStore, download: Download) => {
  const { place, bucket, key, version, check } = download
  const object = await store.find(place, bucket, key, version)
  check?.(object)
  const verdict = judge(download, object, false)
  const headers = headersOf(download, object)
  if (verdict.status === 304) return reply(304, undefined, headers)
  return reply(200, undefined, { ...headers, ...lengthHeaders(object, "all") })
}
