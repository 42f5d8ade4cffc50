/** Reading, writing and deleting single objects. */
import type { Reply } from "@svc/contract"
import { parseRange } from "../../../kernel/byte-ranges.ts"
import { fault } from "../../../kernel/fault.ts"
import type { ByteRange } from "../../../ports/blob/port.ts"
import { ISOLATION } from "../download.ts"
import type { ObjectRecord } from "../object-store.ts"
import { isSameForRange, judgeRead, parseConditions } from "../rules/conditions.ts"
import { readAclHeader } from "./acl.ts"
import { readDeleteConditions, removeIf } from "./conditional-delete.ts"
import { writeIf } from "./conditional-write.ts"
import {
  checkKey,
  checkSupported,
  checksumHeaders,
  objectHeaders,
  readAttributes,
  stateHeaders,
} from "./headers.ts"
import { expirationHeaders } from "./lifecycle.ts"
import { getPart, headPart } from "./parts.ts"
import { openPayload } from "./payload.ts"
import { givenOf, quoted, type S3Handler, type S3Request } from "./request.ts"
import { readTagHeader } from "./tagging.ts"
import { readVersion, removalHeaders, versionHeaders, versionOf } from "./versions.ts"

const outside = ({ size }: ObjectRecord) =>
  fault("range_not_satisfiable", undefined, { headers: { "content-range": `bytes */${size}` } })

/** How much of an object is asked for, or that its reader has it already. */
const judge = (object: ObjectRecord, { call }: S3Request): ByteRange | "all" | "nothing_new" => {
  const judged = judgeRead(parseConditions(call.header), object)
  if (judged === "failed") throw fault("precondition_failed")
  if (judged === "not_modified") return "nothing_new"
  const range = isSameForRange(call.header("if-range"), object)
    ? parseRange(call.header("range"), object.size)
    : "all"
  if (range === "unsatisfiable") throw outside(object)
  return range
}

const replyWith = (
  request: S3Request,
  object: ObjectRecord,
  wanted: ReturnType<typeof judge>,
  body: unknown,
): Reply => {
  if (wanted === "nothing_new") return { status: 304, body: undefined, headers: stateHeaders(object) }
  const { call, query } = request
  const isWhole = wanted === "all" || wanted.end - wanted.start + 1 === object.size
  const withChecksums = isWhole && call.header("x-amz-checksum-mode")?.toUpperCase() === "ENABLED"
  const headers = {
    ...objectHeaders(object, query, withChecksums),
    ...(versionOf(query) === undefined && expirationHeaders(request, object)),
    ...ISOLATION,
  }
  if (wanted === "all")
    return { status: 200, body, headers: { ...headers, "content-length": String(object.size) } }
  const { start, end } = wanted
  return {
    status: 206,
    body,
    headers: {
      ...headers,
      "content-length": String(end - start + 1),
      "content-range": `bytes ${start}-${end}/${object.size}`,
    },
  }
}

export const getObject: S3Handler = async request => {
  const { call, store, place, bucket, key, query } = request
  if (givenOf(query, "partNumber") !== undefined) return await getPart(request)
  let wanted: ReturnType<typeof judge> = "all"
  const choose = (found: ObjectRecord) => {
    wanted = judge(found, request)
    return wanted === "nothing_new" ? "none" : wanted
  }
  const { object, body } = await readVersion(versionOf(query), version =>
    store.open(place, bucket, key, choose, version),
  )
  const answer = replyWith(request, object, wanted, body ?? undefined)
  call.meter("egress_bytes", Number(answer.headers?.["content-length"] ?? 0))
  return answer
}

export const headObject: S3Handler = async request => {
  const { store, place, bucket, key, query } = request
  if (givenOf(query, "partNumber") !== undefined) return await headPart(request)
  const object = await readVersion(versionOf(query), version => store.find(place, bucket, key, version))
  return replyWith(request, object, judge(object, request), undefined)
}

export const putObject: S3Handler = async request => {
  const { call, store, place, bucket, key } = request
  checkKey(key)
  checkSupported(call)
  const tags = readTagHeader(call)
  const acl = readAclHeader(call)
  const object = await writeIf(request, parseConditions(call.header), given =>
    store.put(place, {
      ...{ bucket, key, ...openPayload(call), ...readAttributes(call) },
      ...(tags && { tags }),
      ...(acl && { acl }),
      ...given,
      ...{ signal: call.signal, now: call.now },
    }),
  )
  call.meter("ingress_bytes", object.size)
  return {
    status: 200,
    body: undefined,
    headers: {
      etag: quoted(object.etag),
      ...versionHeaders(object),
      ...expirationHeaders(request, object),
      ...checksumHeaders(object.checksums, object.checksumType),
    },
  }
}

export const deleteObject: S3Handler = async ({ call, store, place, bucket, key, query }) => {
  checkKey(key)
  const size = call.header("x-amz-if-match-size")
  const modified = call.header("x-amz-if-match-last-modified-time")
  const named = { key, version: versionOf(query) }
  const removed = await removeIf({ store, place, bucket }, named, {
    ...parseConditions(call.header),
    ...readDeleteConditions(size, modified),
  })
  return { status: 204, body: undefined, headers: removalHeaders(removed) }
}
