/** Objects as headers: what a request gives an object, and what a reply tells of it. */
import { OBJECT_KEY_BYTES_MAX } from "@svc/contract"
import type { Call } from "../../../kernel/call.ts"
import type { Checksums, ObjectAttributes, ObjectRecord } from "../object-store.ts"
import * as attributes from "../rules/attributes.ts"
import { CHECKSUM_NAMES } from "../rules/checksums.ts"
import { s3Fault } from "./errors.ts"
import { checksumHeader } from "./payload.ts"
import { fieldOf, type Query, quoted } from "./request.ts"
import { text } from "./xml.ts"

/** What S3 says of an object that was sent without a type. */
const TYPE_DEFAULT = "binary/octet-stream"

/** `aws-chunked` is of the request and not of the object. */
const withoutFraming = (encoding: string | undefined): string | undefined =>
  encoding
    ?.split(",")
    .map(part => part.trim())
    .filter(part => part !== "aws-chunked")
    .join(", ")

/** The headers of a request that are kept with the object. */
export const readAttributes = ({
  header,
  headerNames,
}: Pick<Call, "header" | "headerNames">): ObjectAttributes => {
  const { http, metadata } = attributes.readAttributes({
    headerNames,
    header: name => (name === "content-encoding" ? withoutFraming(header(name)) : header(name)),
  })
  return { http: { contentType: TYPE_DEFAULT, ...http }, metadata }
}

export const checkKey = (key: string): void => {
  if (Buffer.byteLength(key) > OBJECT_KEY_BYTES_MAX) throw s3Fault("KeyTooLongError")
}

/** Headers that ask for what there is not; ignored, they would promise what does not hold. */
const UNSUPPORTED =
  /^x-amz-(?:server-side-encryption|object-lock-|bucket-object-lock-|website-redirect-location$|write-offset-bytes$|rename-source$)/

/** Refuses headers whose meaning would be lost. */
export const checkSupported = ({ header, headerNames }: Pick<Call, "header" | "headerNames">): void => {
  const unsupported = headerNames().find(
    name => UNSUPPORTED.test(name) && header(name)?.toLowerCase() !== "false",
  )
  if (unsupported !== undefined) throw s3Fault("NotImplemented")
  const storageClass = header("x-amz-storage-class")
  if (storageClass !== undefined && storageClass !== "STANDARD") throw s3Fault("InvalidStorageClass")
}

/** The query may hold what no header can. */
const writeText = (value: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  attributes.encodeHeader(value).replace(/[\u0000-\u001f\u007f]/g, " ")

/** `?response-content-type=…` and its like, which take the place of what is kept. */
const overrides = (query: Query): Record<string, string> =>
  Object.fromEntries(
    Object.values(attributes.HTTP_HEADERS).flatMap(name => {
      const value = fieldOf(query, `response-${name}`)
      return value === undefined ? [] : [[name, writeText(value)]]
    }),
  )

export const checksumHeaders = (
  checksums: Checksums,
  type?: ObjectRecord["checksumType"],
): Record<string, string> => {
  const kept = CHECKSUM_NAMES.flatMap(name => {
    const digest = checksums[name]
    return digest === undefined ? [] : [[checksumHeader(name), digest]]
  })
  if (kept.length === 0) return {}
  return { ...Object.fromEntries(kept), ...(type && { "x-amz-checksum-type": type.toUpperCase() }) }
}

/** `<ChecksumCRC32>…</ChecksumCRC32>` and the like. */
export const checksumElements = (checksums: Checksums): string[] =>
  CHECKSUM_NAMES.flatMap(name => {
    const digest = checksums[name]
    return digest === undefined ? [] : [text(`Checksum${name.toUpperCase()}`, digest)]
  })

/** What tells one state of an object from another; goes with 304 as well. */
export const stateHeaders = (object: ObjectRecord): Record<string, string> => ({
  etag: quoted(object.etag),
  "last-modified": object.lastModified.toUTCString(),
})

const tagCount = ({ tags }: ObjectRecord): Record<string, string> => {
  const count = Object.keys(tags).length
  return count === 0 ? {} : { "x-amz-tagging-count": String(count) }
}

/** Everything that a reply tells of an object but its length. */
export const objectHeaders = (
  object: ObjectRecord,
  query: Query,
  withChecksums: boolean,
): Record<string, string> => ({
  ...stateHeaders(object),
  ...(object.versionId !== null && { "x-amz-version-id": object.versionId }),
  ...tagCount(object),
  "accept-ranges": "bytes",
  ...Object.fromEntries(
    attributes.HTTP_FIELDS.flatMap(field => {
      const value = object.http[field]
      return value === undefined ? [] : [[attributes.HTTP_HEADERS[field], attributes.encodeHeader(value)]]
    }),
  ),
  ...Object.fromEntries(
    Object.entries(object.metadata).map(([name, value]) => [
      `x-amz-meta-${name}`,
      attributes.encodeHeader(value),
    ]),
  ),
  ...(withChecksums && checksumHeaders(object.checksums, object.checksumType)),
  ...overrides(query),
})
