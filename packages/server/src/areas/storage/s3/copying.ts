/** Objects and parts whose content comes from another object. */
import { Readable } from "node:stream"
import { fault } from "../../../kernel/fault.ts"
import { requireScope } from "../../../kernel/scopes.ts"
import type { ByteRange } from "../../../ports/blob/port.ts"
import type { NamedVersion, ObjectRecord } from "../object-store.ts"
import { judgeRead, parseConditions } from "../rules/conditions.ts"
import { readAclHeader } from "./acl.ts"
import { writeIf } from "./conditional-write.ts"
import { s3Fault } from "./errors.ts"
import { checkKey, checkSupported, checksumElements, readAttributes } from "./headers.ts"
import { partAddress } from "./multipart.ts"
import { quoted, type S3Handler, type S3Request, xml } from "./request.ts"
import { readTagHeader } from "./tagging.ts"
import { readVersion, versionHeaders } from "./versions.ts"
import { text } from "./xml.ts"

interface Source extends NamedVersion {
  readonly bucket: string
}

/** `x-amz-copy-source: /bucket/key?versionId=…`, escaped like a path. */
const readSource = ({ call }: S3Request): Source => {
  // A copy is read from its source, and may land where everybody reads.
  requireScope(call, "storage:read")
  const [path = "", query = ""] = (call.header("x-amz-copy-source") ?? "").split("?")
  let decoded: string
  try {
    decoded = decodeURIComponent(path)
  } catch {
    throw s3Fault("InvalidArgument", "x-amz-copy-source is not escaped as a path")
  }
  const [, bucket = "", key = ""] = /^\/?([^/]+)\/(.+)$/s.exec(decoded) ?? []
  // A key may hold anything else; no text of PostgreSQL holds this.
  if (decoded.includes("\0")) throw s3Fault("InvalidArgument", "x-amz-copy-source has a null character")
  if (key === "") throw s3Fault("InvalidArgument", "x-amz-copy-source is not of the form bucket/key")
  return { bucket, key, version: new URLSearchParams(query).get("versionId") || undefined }
}

const sourceConditions = ({ call }: S3Request) =>
  parseConditions(name => call.header(`x-amz-copy-source-${name}`))

const copied = (
  root: string,
  object: Pick<ObjectRecord, "etag" | "lastModified" | "checksums">,
  headers: Readonly<Record<string, string>>,
) =>
  xml(
    root,
    [
      text("LastModified", object.lastModified.toISOString()),
      text("ETag", quoted(object.etag)),
      ...checksumElements(object.checksums),
    ],
    headers,
  )

const sourceHeaders = ({ version }: Source): Record<string, string> =>
  version === undefined ? {} : { "x-amz-copy-source-version-id": version }

const directive = ({ call }: S3Request, name: string): "COPY" | "REPLACE" => {
  const given = call.header(name) ?? "COPY"
  if (given !== "COPY" && given !== "REPLACE")
    throw s3Fault("InvalidArgument", `${name} must be COPY or REPLACE`)
  return given
}

export const copyObject: S3Handler = async request => {
  const { call, store, place, bucket, key } = request
  checkKey(key)
  checkSupported(call)
  const source = readSource(request)
  const replaces = directive(request, "x-amz-metadata-directive") === "REPLACE"
  const tags =
    directive(request, "x-amz-tagging-directive") === "REPLACE" ? (readTagHeader(call) ?? {}) : undefined
  const isItself = source.bucket === bucket && source.key === key && source.version === undefined
  if (isItself && !replaces && tags === undefined)
    throw s3Fault("InvalidRequest", "an object can be copied to itself only to change its metadata")
  const acl = readAclHeader(call)
  const from = sourceConditions(request)
  const object = await readVersion(source.version, version =>
    writeIf(request, parseConditions(call.header), given =>
      store.copy(place, {
        from: { ...source, version, ...(from && { conditions: from }) },
        to: { bucket, key, ...given },
        ...(replaces && { attributes: readAttributes(call) }),
        ...(tags && { tags }),
        ...(acl && { acl }),
        now: call.now,
      }),
    ),
  )
  return copied("CopyObjectResult", object, { ...versionHeaders(object), ...sourceHeaders(source) })
}

/** `bytes=0-5242879`: both ends, inside the object. */
const sourceRange = (header: string | undefined, { size }: ObjectRecord): ByteRange | "all" => {
  if (header === undefined) return "all"
  const [, from, to] = /^bytes=(\d{1,15})-(\d{1,15})$/.exec(header) ?? []
  const range = { start: Number(from), end: Number(to) }
  if (from === undefined || range.start > range.end || range.end >= size)
    throw s3Fault("InvalidArgument", "x-amz-copy-source-range must be a range inside the object")
  return range
}

export const copyPart: S3Handler = async request => {
  const { call, store, place } = request
  const source = readSource(request)
  const part = await partAddress(request)
  const conditions = sourceConditions(request)
  let bytes = 0
  const choose = (object: ObjectRecord) => {
    // Of a copy nothing is answered but that it was made, so a condition that does not hold refuses it.
    if (judgeRead(conditions, object) !== "go_on") throw fault("precondition_failed")
    const range = sourceRange(call.header("x-amz-copy-source-range"), object)
    bytes = range === "all" ? object.size : range.end - range.start + 1
    return range
  }
  const { body } = await readVersion(source.version, version =>
    store.open(place, source.bucket, source.key, choose, version),
  )
  const stored = await store.multipart.putPart(place, {
    ...part,
    source: body ?? Readable.from([]),
    size: bytes,
    signal: call.signal,
    now: call.now,
  })
  return copied("CopyPartResult", stored, sourceHeaders(source))
}
