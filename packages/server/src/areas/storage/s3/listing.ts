/** Lists of objects, in the three forms that S3 has for them. */
import type { ListedObjects, Listing, ObjectRecord } from "../object-store.ts"
import { s3Fault } from "./errors.ts"
import { countOf, fieldOf, givenOf, ownerOf, quoted, type S3Handler, type S3Request, xml } from "./request.ts"
import { element, optional, text } from "./xml.ts"

const KEYS_MAX = 1000
const NOTHING: ListedObjects = { objects: [], prefixes: [], cursor: null }

/** S3 escapes all but slashes. */
const urlEncode = (value: string): string =>
  encodeURIComponent(value.toWellFormed())
    .replace(/[!'()*]/g, sign => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("%2F", "/")

interface ListingRequest {
  /** What every form of the reply begins with. */
  readonly head: readonly string[]
  readonly prefix: string
  readonly delimiter: string | undefined
  readonly keysMax: number
  readonly encode: (value: string) => string
}

export const readListing = ({ query, bucket }: S3Request): ListingRequest => {
  const encodingType = givenOf(query, "encoding-type")
  if (encodingType !== undefined && encodingType !== "url")
    throw s3Fault("InvalidArgument", "encoding-type must be url")
  const prefix = fieldOf(query, "prefix") ?? ""
  const delimiter = givenOf(query, "delimiter")
  const keysMax = countOf(query, "max-keys", KEYS_MAX)
  const encode = encodingType === undefined ? (value: string) => value : urlEncode
  const head = [
    text("Name", bucket),
    text("Prefix", encode(prefix)),
    delimiter === undefined ? "" : text("Delimiter", encode(delimiter)),
    text("MaxKeys", keysMax),
    optional("EncodingType", encodingType),
  ]
  return { head, prefix, delimiter, keysMax, encode }
}

const list = async (
  request: S3Request,
  asked: ListingRequest,
  from: Pick<Listing, "startAfter" | "cursor">,
) => {
  const { store, place, bucket } = request
  if (asked.keysMax === 0) {
    await store.findBucket(place, bucket)
    return NOTHING
  }
  return await store.list(place, bucket, {
    ...(asked.prefix !== "" && { prefix: asked.prefix }),
    ...(asked.delimiter !== undefined && { delimiter: asked.delimiter }),
    ...from,
    limit: asked.keysMax,
  })
}

export const ownerElement = (request: S3Request): string => element("Owner", ownerOf(request))

export const objectFacts = (object: ObjectRecord): string[] => [
  text("LastModified", object.lastModified.toISOString()),
  text("ETag", quoted(object.etag)),
  ...Object.keys(object.checksums)
    .filter(name => name !== "md5")
    .map(name => text("ChecksumAlgorithm", name.toUpperCase())),
  text("Size", object.size),
  text("StorageClass", "STANDARD"),
]

const contents = ({ objects }: ListedObjects, { encode }: ListingRequest, ownedBy: string): string[] =>
  objects.map(object =>
    element("Contents", [text("Key", encode(object.key)), ...objectFacts(object), ownedBy]),
  )

const commonPrefixes = ({ prefixes }: ListedObjects, { encode }: ListingRequest): string[] =>
  prefixes.map(prefix => element("CommonPrefixes", [text("Prefix", encode(prefix))]))

/** The last entry of a page, key or prefix. */
const lastOf = ({ objects, prefixes }: ListedObjects): string | undefined =>
  [objects.at(-1)?.key, prefixes.at(-1)]
    .filter(entry => entry !== undefined)
    .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .at(-1)

/** `ListObjects`, which goes on from the name of an entry. */
const listV1: S3Handler = async request => {
  const asked = readListing(request)
  const marker = fieldOf(request.query, "marker") ?? ""
  const found = await list(request, asked, marker === "" ? {} : { startAfter: marker })
  const next = found.cursor === null || asked.delimiter === undefined ? undefined : lastOf(found)
  return xml("ListBucketResult", [
    ...asked.head,
    text("Marker", asked.encode(marker)),
    text("IsTruncated", found.cursor !== null),
    next === undefined ? "" : text("NextMarker", asked.encode(next)),
    ...contents(found, asked, ownerElement(request)),
    ...commonPrefixes(found, asked),
  ])
}

/** `ListObjectsV2`, which goes on from a token. */
const listV2: S3Handler = async request => {
  const asked = readListing(request)
  const { query } = request
  const token = fieldOf(query, "continuation-token")
  if (token === "") throw s3Fault("InvalidArgument", "continuation-token must not be empty")
  const startAfter = givenOf(query, "start-after")
  const from = {
    ...(token !== undefined && { cursor: token }),
    ...(startAfter !== undefined && { startAfter }),
  }
  const found = await list(request, asked, from)
  const ownedBy = fieldOf(query, "fetch-owner") === "true" ? ownerElement(request) : ""
  return xml("ListBucketResult", [
    ...asked.head,
    text("KeyCount", found.objects.length + found.prefixes.length),
    optional("StartAfter", startAfter && asked.encode(startAfter)),
    optional("ContinuationToken", token),
    text("IsTruncated", found.cursor !== null),
    optional("NextContinuationToken", found.cursor),
    ...contents(found, asked, ownedBy),
    ...commonPrefixes(found, asked),
  ])
}

export const listObjects: S3Handler = request =>
  fieldOf(request.query, "list-type") === "2" ? listV2(request) : listV1(request)
