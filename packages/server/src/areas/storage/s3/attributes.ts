/** What `GetObjectAttributes` tells of an object, its parts by the page. */
import { fault } from "../../../kernel/fault.ts"
import type { ObjectInParts } from "../object-store.ts"
import { judgeRead, parseConditions } from "../rules/conditions.ts"
import { s3Fault } from "./errors.ts"
import { checksumElements } from "./headers.ts"
import { type S3Call, type S3Handler, xml } from "./request.ts"
import { readVersion, versionHeaders, versionOf } from "./versions.ts"
import { element, optional, text } from "./xml.ts"

const ATTRIBUTES = ["ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize"] as const
const PARTS_LISTED_MAX = 1000

const countOf = ({ header }: S3Call, name: string, otherwise: number): number => {
  const given = header(name)
  if (given !== undefined && !/^\d{1,9}$/.test(given))
    throw s3Fault("InvalidArgument", `${name} must be a whole number`)
  return given === undefined ? otherwise : Number(given)
}

/** Nothing for an object that was sent whole. */
const partsElement = ({ object, parts }: ObjectInParts, call: S3Call): string => {
  if (object.partCount === null) return ""
  const limit = Math.min(countOf(call, "x-amz-max-parts", PARTS_LISTED_MAX), PARTS_LISTED_MAX)
  const marker = countOf(call, "x-amz-part-number-marker", 0)
  const left = parts.filter(({ number }) => number > marker)
  const page = left.slice(0, limit)
  return element("ObjectParts", [
    text("PartsCount", object.partCount),
    text("PartNumberMarker", marker),
    optional("NextPartNumberMarker", page.at(-1)?.number),
    text("MaxParts", limit),
    text("IsTruncated", left.length > page.length),
    ...page.map(({ number, size, checksums }) =>
      element("Part", [...checksumElements(checksums), text("PartNumber", number), text("Size", size)]),
    ),
  ])
}

/** Those that its header names. */
export const getAttributes: S3Handler = async ({ call, store, place, bucket, key, query }) => {
  const asked = (call.header("x-amz-object-attributes") ?? "").split(",").map(name => name.trim())
  if (!asked.every(name => ATTRIBUTES.some(known => known === name)))
    throw s3Fault("InvalidArgument", `x-amz-object-attributes names some of ${ATTRIBUTES.join(", ")}`)
  const found = await readVersion(versionOf(query), version => store.findParts(place, bucket, key, version))
  const { object } = found
  if (judgeRead(parseConditions(call.header), object) === "failed") throw fault("precondition_failed")
  const checksums = checksumElements(object.checksums)
  const elements = {
    ETag: text("ETag", object.etag),
    Checksum:
      checksums.length === 0
        ? ""
        : element("Checksum", [...checksums, text("ChecksumType", object.checksumType.toUpperCase())]),
    ObjectParts: partsElement(found, call),
    StorageClass: text("StorageClass", "STANDARD"),
    ObjectSize: text("ObjectSize", object.size),
  }
  return xml(
    "GetObjectAttributesResponse",
    ATTRIBUTES.filter(name => asked.includes(name)).map(name => elements[name]),
    { "last-modified": object.lastModified.toUTCString(), ...versionHeaders(object) },
  )
}
