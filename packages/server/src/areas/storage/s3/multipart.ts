/** Uploads in parts. */
import { PARTS_MAX } from "@svc/contract"
import { fault } from "../../../kernel/fault.ts"
import { isUuid } from "../../../kernel/id.ts"
import type { Checksums, UploadRecord } from "../object-store.ts"
import { CHECKSUM_NAMES } from "../rules/checksums.ts"
import { parseConditions } from "../rules/conditions.ts"
import { readAclHeader } from "./acl.ts"
import { readBody } from "./body.ts"
import { writeIf } from "./conditional-write.ts"
import { s3Fault } from "./errors.ts"
import { checkKey, checkSupported, checksumElements, checksumHeaders, readAttributes } from "./headers.ts"
import { type ChecksumName, checksumHeader, openPayload } from "./payload.ts"
import {
  countOf,
  fieldOf,
  givenOf,
  ownerOf,
  quoted,
  type S3Handler,
  type S3Request,
  unquoted,
  xml,
} from "./request.ts"
import { readTagHeader } from "./tagging.ts"
import { versionHeaders } from "./versions.ts"
import { element, optional, text } from "./xml.ts"
import { childrenOf, parseXml, textOf } from "./xml-body.ts"

const PAGE_MAX = 1000

/** The upload that a request names, if it is one of this key. */
const findUpload = async ({ store, place, bucket, key, query }: S3Request): Promise<UploadRecord> => {
  const id = fieldOf(query, "uploadId") ?? ""
  const upload = isUuid(id) ? await store.multipart.find(place, id) : undefined
  if (upload?.bucket !== bucket || upload.key !== key) throw fault("upload_not_found")
  return upload
}

export const partNumber = (textual: string | undefined): number => {
  const number = /^[1-9]\d{0,4}$/.test(textual ?? "") ? Number(textual) : 0
  if (number < 1 || number > PARTS_MAX)
    throw s3Fault("InvalidArgument", `partNumber must be from 1 to ${PARTS_MAX}`)
  return number
}

/** Which part of which upload a request sends. */
export const partAddress = async (request: S3Request) => {
  const number = partNumber(fieldOf(request.query, "partNumber"))
  return { uploadId: (await findUpload(request)).id, number }
}

const checksumAlgorithm = (name: string | undefined): ChecksumName | undefined => {
  if (name === undefined) return undefined
  const known = CHECKSUM_NAMES.find(candidate => candidate === name.toLowerCase())
  if (!known) throw s3Fault("InvalidRequest", "x-amz-checksum-algorithm is not one that there is")
  return known
}

/** SHA digests of parts cannot be put together to that of the whole; CRC64NVME is only ever of the whole. */
const checksumType = (name: ChecksumName | undefined, given: string | undefined) => {
  const type = given?.toLowerCase() ?? (name === "crc64nvme" ? "full_object" : "composite")
  const fits =
    (type === "full_object" && name?.startsWith("crc")) || (type === "composite" && name !== "crc64nvme")
  if ((type !== "full_object" && type !== "composite") || (given !== undefined && !fits))
    throw s3Fault("InvalidRequest", "x-amz-checksum-type does not fit the algorithm")
  return type
}

export const createUpload: S3Handler = async request => {
  const { call, store, place, bucket, key } = request
  checkKey(key)
  checkSupported(call)
  const acl = readAclHeader(call)
  const algorithm = checksumAlgorithm(call.header("x-amz-checksum-algorithm"))
  const type = checksumType(algorithm, call.header("x-amz-checksum-type"))
  const upload = await store.multipart.create(place, {
    ...{ bucket, key, ...readAttributes(call), checksumType: type, now: call.now },
    tags: readTagHeader(call) ?? {},
    ...(acl && { acl }),
    ...(algorithm && { checksumAlgorithm: algorithm }),
  })
  return xml(
    "InitiateMultipartUploadResult",
    [text("Bucket", bucket), text("Key", key), text("UploadId", upload.id)],
    algorithm && {
      "x-amz-checksum-algorithm": algorithm.toUpperCase(),
      "x-amz-checksum-type": type.toUpperCase(),
    },
  )
}

export const putPart: S3Handler = async request => {
  const { call, store, place } = request
  const part = await partAddress(request)
  const stored = await store.multipart.putPart(place, {
    ...{ ...part, ...openPayload(call) },
    ...{ signal: call.signal, now: call.now },
  })
  call.meter("ingress_bytes", stored.size)
  return {
    status: 200,
    body: undefined,
    headers: { etag: quoted(stored.etag), ...checksumHeaders(stored.checksums) },
  }
}

/** The body of `CompleteMultipartUpload`. */
const readParts = async (body: string) => {
  const parts = childrenOf(await parseXml(body, "CompleteMultipartUpload"), "Part").map(part => {
    const number = textOf(part, "PartNumber")?.trim()
    const etag = textOf(part, "ETag")
    if (number === undefined || etag === undefined || !/^\d{1,5}$/.test(number)) throw s3Fault("MalformedXML")
    const checksums: Checksums = Object.fromEntries(
      CHECKSUM_NAMES.flatMap(name => {
        const digest = textOf(part, `Checksum${name.toUpperCase()}`)
        return digest === undefined ? [] : [[name, digest.trim()]]
      }),
    )
    return { number: Number(number), etag: unquoted(etag), checksums }
  })
  if (parts.length === 0 || parts.length > PARTS_MAX) throw s3Fault("MalformedXML")
  if (parts.some(({ number }, at) => at > 0 && number <= (parts[at - 1]?.number ?? 0)))
    throw s3Fault("InvalidPartOrder")
  return parts
}

/** Here these headers are of the object and not of the body, which is a list of its parts. */
const wholeChecksums = ({ header }: S3Request["call"]): Checksums =>
  Object.fromEntries(
    CHECKSUM_NAMES.flatMap(name => {
      const sum = header(checksumHeader(name))
      return sum === undefined ? [] : [[name, sum.trim()]]
    }),
  )

const readPartsOf = async (call: S3Request["call"]) => {
  const { signed, stream } = call
  const header = (name: string) => (name.startsWith("x-amz-checksum-") ? undefined : call.header(name))
  return await readParts(await readBody({ signed, stream, header }))
}

export const completeUpload: S3Handler = async request => {
  const { call, store, place, bucket, key } = request
  const { id } = await findUpload(request)
  const parts = await readPartsOf(call)
  const object = await writeIf(request, parseConditions(call.header), given =>
    store.multipart.complete(place, {
      ...{ uploadId: id, parts, checksums: wholeChecksums(call), now: call.now },
      ...given,
    }),
  )
  const checksums = checksumElements(object.checksums)
  return xml(
    "CompleteMultipartUploadResult",
    [
      text("Location", `/${bucket}/${key}`),
      text("Bucket", bucket),
      text("Key", key),
      text("ETag", quoted(object.etag)),
      ...checksums,
      checksums.length === 0 ? "" : text("ChecksumType", object.checksumType.toUpperCase()),
    ],
    versionHeaders(object),
  )
}

export const abortUpload: S3Handler = async request => {
  const { id } = await findUpload(request)
  await request.store.multipart.abort(request.place, id)
  return { status: 204, body: undefined }
}

const people = (request: S3Request): string[] =>
  ["Initiator", "Owner"].map(name => element(name, ownerOf(request)))

export const listParts: S3Handler = async request => {
  const { store, place, bucket, key, query } = request
  const upload = await findUpload(request)
  const limit = countOf(query, "max-parts", PAGE_MAX)
  const marker = givenOf(query, "part-number-marker")
  if (marker !== undefined && !/^\d{1,9}$/.test(marker)) throw s3Fault("InvalidArgument")
  const after = Number(marker ?? 0)
  const { parts, isTruncated } =
    limit === 0
      ? { parts: [], isTruncated: false }
      : await store.multipart.listParts(place, upload.id, { after, limit })
  return xml("ListPartsResult", [
    ...[text("Bucket", bucket), text("Key", key), text("UploadId", upload.id)],
    ...people(request),
    text("StorageClass", "STANDARD"),
    optional("ChecksumAlgorithm", upload.checksumAlgorithm?.toUpperCase()),
    optional("ChecksumType", upload.checksumAlgorithm && upload.checksumType.toUpperCase()),
    ...[text("PartNumberMarker", after), optional("NextPartNumberMarker", parts.at(-1)?.number)],
    ...[text("MaxParts", limit), text("IsTruncated", isTruncated)],
    ...parts.map(part =>
      element("Part", [
        text("PartNumber", part.number),
        text("LastModified", part.lastModified.toISOString()),
        text("ETag", quoted(part.etag)),
        ...checksumElements(part.checksums),
        text("Size", part.size),
      ]),
    ),
  ])
}

export const listUploads: S3Handler = async request => {
  const { store, place, bucket, query } = request
  if (givenOf(query, "delimiter") !== undefined) throw s3Fault("NotImplemented")
  const limit = countOf(query, "max-uploads", PAGE_MAX)
  const prefix = givenOf(query, "prefix")
  const afterKey = givenOf(query, "key-marker")
  const afterId = givenOf(query, "upload-id-marker")
  if (afterId !== undefined && !isUuid(afterId)) throw s3Fault("InvalidArgument")
  if (limit === 0) await store.findBucket(place, bucket)
  const { uploads, isTruncated } =
    limit === 0
      ? { uploads: [], isTruncated: false }
      : await store.multipart.list(place, bucket, {
          limit,
          ...(prefix !== undefined && { prefix }),
          ...(afterKey !== undefined && { afterKey }),
          ...(afterKey !== undefined && afterId !== undefined && { afterId }),
        })
  const last = isTruncated ? uploads.at(-1) : undefined
  return xml("ListMultipartUploadsResult", [
    text("Bucket", bucket),
    ...[text("KeyMarker", afterKey ?? ""), text("UploadIdMarker", afterId ?? "")],
    ...[optional("NextKeyMarker", last?.key), optional("NextUploadIdMarker", last?.id)],
    ...[text("Prefix", prefix ?? ""), text("MaxUploads", limit), text("IsTruncated", isTruncated)],
    ...uploads.map(upload =>
      element("Upload", [
        ...[text("Key", upload.key), text("UploadId", upload.id)],
        ...people(request),
        text("StorageClass", "STANDARD"),
        text("Initiated", upload.createdAt.toISOString()),
      ]),
    ),
  ])
}
