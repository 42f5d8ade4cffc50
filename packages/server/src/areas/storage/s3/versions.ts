/** Versions of objects: the setting of a bucket, which version a request means, and their list. */
import { isFault } from "../../../kernel/fault.ts"
import type { ObjectRecord, RemovedVersion, VersionRecord } from "../object-store.ts"
import { readBody } from "./body.ts"
import { s3Fault } from "./errors.ts"
import { objectFacts, ownerElement, readListing } from "./listing.ts"
import { fieldOf, givenOf, type Query, type S3Handler, type S3Request, xml } from "./request.ts"
import { element, text } from "./xml.ts"
import { parseXml, textOf } from "./xml-body.ts"

/** The version that the query names; undefined for the newest. */
export const versionOf = (query: Query): string | undefined => givenOf(query, "versionId")

/** Nothing where the bucket never had versions. */
export const versionHeaders = ({
  versionId,
}: Pick<ObjectRecord, "versionId">): Readonly<Record<string, string>> =>
  versionId === null ? {} : { "x-amz-version-id": versionId }

export const removalHeaders = (removed: RemovedVersion | undefined): Readonly<Record<string, string>> =>
  removed ? { ...versionHeaders(removed), ...(removed.isMarker && { "x-amz-delete-marker": "true" }) } : {}

/** A version that is a delete marker cannot be read, and one that is not there has a code of its own. */
export const readVersion = async <Read>(
  version: string | undefined,
  read: (version: string | undefined) => Promise<Read>,
): Promise<Read> => {
  try {
    return await read(version)
  } catch (error) {
    if (version === undefined || !isFault(error, "object_not_found")) throw error
    const { headers = {} } = error.details
    if (headers["x-amz-delete-marker"] !== undefined) throw s3Fault("MethodNotAllowed", undefined, headers)
    throw s3Fault("NoSuchVersion")
  }
}

const STATUSES = { enabled: "Enabled", suspended: "Suspended" } as const

export const getVersioning: S3Handler = async ({ store, place, bucket }) => {
  const { versioning } = await store.findBucket(place, bucket)
  return xml("VersioningConfiguration", versioning === "off" ? [] : [text("Status", STATUSES[versioning])])
}

export const putVersioning: S3Handler = async ({ call, store, place, bucket }) => {
  const root = await parseXml(await readBody(call), "VersioningConfiguration")
  if (textOf(root, "MfaDelete") === "Enabled")
    throw s3Fault("NotImplemented", "deleting versions does not ask for a second factor here")
  const status = textOf(root, "Status")
  if (status !== "Enabled" && status !== "Suspended")
    throw s3Fault("MalformedXML", "Status is Enabled or Suspended")
  await store.setVersioning(place, bucket, status === "Enabled" ? "enabled" : "suspended")
  return { status: 200, body: undefined }
}

const versionElement = (request: S3Request, key: string, { object, isMarker, isLatest }: VersionRecord) =>
  element(isMarker ? "DeleteMarker" : "Version", [
    text("Key", key),
    text("VersionId", object.versionId ?? "null"),
    text("IsLatest", isLatest),
    ...(isMarker ? [text("LastModified", object.lastModified.toISOString())] : objectFacts(object)),
    ownerElement(request),
  ])

/** `ListObjectVersions`. Its markers also go on where the versions that they name were deleted meanwhile. */
export const listVersions: S3Handler = async request => {
  const { store, place, bucket, query } = request
  const asked = readListing(request)
  const key = fieldOf(query, "key-marker") ?? ""
  const marker = givenOf(query, "version-id-marker")
  if (marker !== undefined && key === "")
    throw s3Fault("InvalidArgument", "version-id-marker goes with key-marker")
  const { prefix, delimiter, keysMax, encode } = asked
  if (keysMax === 0) await store.findBucket(place, bucket)
  const found =
    keysMax === 0
      ? { versions: [], prefixes: [], next: null }
      : await store.listVersions(place, bucket, {
          ...(prefix !== "" && { prefix }),
          ...(delimiter !== undefined && { delimiter }),
          ...(key !== "" && { after: { key, marker } }),
          limit: keysMax,
        })
  return xml("ListVersionsResult", [
    ...asked.head,
    text("KeyMarker", encode(key)),
    text("VersionIdMarker", marker ?? ""),
    text("IsTruncated", found.next !== null),
    ...(found.next === null ? [] : [text("NextKeyMarker", encode(found.next.key))]),
    ...(found.next?.marker === undefined ? [] : [text("NextVersionIdMarker", found.next.marker)]),
    ...found.versions.map(version => versionElement(request, encode(version.object.key), version)),
    ...found.prefixes.map(common => element("CommonPrefixes", [text("Prefix", encode(common))])),
  ])
}
