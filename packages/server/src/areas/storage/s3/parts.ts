/** Parts of an object, read by their number. */
import type { Reply } from "@svc/contract"
import { fault } from "../../../kernel/fault.ts"
import { ISOLATION } from "../download.ts"
import type { NumberedPart, ObjectInParts } from "../object-store.ts"
import { judgeRead, parseConditions } from "../rules/conditions.ts"
import { s3Fault } from "./errors.ts"
import { checksumHeaders, objectHeaders, stateHeaders } from "./headers.ts"
import { partNumber } from "./multipart.ts"
import { fieldOf, type S3Handler, type S3Request } from "./request.ts"
import { readVersion, versionOf } from "./versions.ts"

interface LocatedPart extends NumberedPart {
  readonly start: number
}

/** An object that was sent whole is its own first part. */
const locate = ({ object, parts }: ObjectInParts, number: number): LocatedPart => {
  if (object.partCount === null && number === 1)
    return { number, size: object.size, checksums: object.checksums, start: 0 }
  const at = parts.findIndex(part => part.number === number)
  const part = parts[at]
  if (!part) throw s3Fault("InvalidPart", `the object has no part ${number}`)
  return { ...part, start: parts.slice(0, at).reduce((sum, { size }) => sum + size, 0) }
}

const checkNoRange = ({ call }: S3Request): void => {
  if (call.header("range") !== undefined)
    throw s3Fault("InvalidRequest", "Range and partNumber cannot be used together")
}

const headersOf = ({ call, query }: S3Request, { object }: ObjectInParts, part: LocatedPart) => {
  const { start, size } = part
  const withChecksums = call.header("x-amz-checksum-mode")?.toUpperCase() === "ENABLED"
  return {
    ...objectHeaders(object, query, false),
    ...(withChecksums && checksumHeaders(part.checksums, object.checksumType)),
    ...ISOLATION,
    ...(object.partCount !== null && { "x-amz-mp-parts-count": String(object.partCount) }),
    "content-length": String(size),
    ...(size > 0 && { "content-range": `bytes ${start}-${start + size - 1}/${object.size}` }),
  }
}

const answerPart = async (request: S3Request, withBody: boolean): Promise<Reply> => {
  const { call, store, place, bucket, key, query } = request
  const number = partNumber(fieldOf(query, "partNumber"))
  checkNoRange(request)
  const found = await readVersion(versionOf(query), version => store.findParts(place, bucket, key, version))
  const judged = judgeRead(parseConditions(call.header), found.object)
  if (judged === "failed") throw fault("precondition_failed")
  if (judged === "not_modified") return { status: 304, body: undefined, headers: stateHeaders(found.object) }
  const part = locate(found, number)
  const headers = headersOf(request, found, part)
  // No range is empty.
  if (part.size === 0) return { status: 200, body: undefined, headers }
  if (!withBody) return { status: 206, body: undefined, headers }
  const body = await found.open({ start: part.start, end: part.start + part.size - 1 })
  call.meter("egress_bytes", part.size)
  return { status: 206, body, headers }
}

export const getPart: S3Handler = request => answerPart(request, true)

export const headPart: S3Handler = request => answerPart(request, false)
