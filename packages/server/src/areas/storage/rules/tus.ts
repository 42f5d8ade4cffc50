/** The headers of tus 1.0.0 (tus.io/protocols/resumable-upload): the core, and the extensions that are named here. */
import { TUS_CHECKSUM_ALGORITHMS, TUS_VERSION } from "@svc/contract"
import { fault } from "../../../kernel/fault.ts"
import { isUuid } from "../../../kernel/id.ts"
import type { HashName } from "../../../ports/blob/port.ts"
import type { ObjectAttributes } from "../object-store.ts"
import { checkAttributes } from "./attributes.ts"
import type { Digests } from "./checksums.ts"

type ReadHeader = (name: string) => string | undefined

export const TUS_CONTENT_TYPE = "application/offset+octet-stream"
const ALGORITHMS: readonly HashName[] = TUS_CHECKSUM_ALGORITHMS

const refuse = (reason: string) => fault("invalid_parameter", { reason })

export const checkVersion = (header: ReadHeader): void => {
  if (header("tus-resumable") !== TUS_VERSION)
    throw fault("precondition_failed", undefined, { headers: { "tus-version": TUS_VERSION } })
}

const readNumber = (header: ReadHeader, name: string): number | undefined => {
  const text = header(name)
  if (text === undefined) return undefined
  if (!/^\d{1,15}$/.test(text)) throw refuse(`${name} is not a number of bytes`)
  return Number(text)
}

export const readOffset = (header: ReadHeader): number => {
  const offset = readNumber(header, "upload-offset")
  if (offset === undefined) throw refuse("upload-offset is missing")
  return offset
}

/** Undefined for a body whose sender does not know how long it is. */
export const readBodySize = (header: ReadHeader): number | undefined => readNumber(header, "content-length")

/** Null: it is told later. */
export const readLength = (header: ReadHeader, bytesMax: number): number | null => {
  const length = readNumber(header, "upload-length")
  const deferred = header("upload-defer-length")
  if (deferred !== undefined && deferred !== "1") throw refuse("upload-defer-length is not 1")
  if ((length === undefined) === (deferred === undefined))
    throw refuse("one of upload-length and upload-defer-length is needed")
  if (length !== undefined && length > bytesMax) throw refuse(`an object has at most ${bytesMax} bytes`)
  return length ?? null
}

/** Partial uploads in one final one. */
const PARTIALS_MAX = 1000
const UPLOAD_PATH = /^\/v1\/storage\/uploads\/([^/]+)$/

/** The id in the address of an upload, which clients send with or without the host that they know. */
const readUploadAddress = (address: string): string => {
  const path = address.startsWith("/") ? address : URL.parse(address)?.pathname
  const id = UPLOAD_PATH.exec(path ?? "")?.[1]?.toLowerCase()
  if (id === undefined || !isUuid(id)) throw refuse("upload-concat names what is no upload")
  return id
}

export interface Concatenation {
  /** As it was sent. */
  readonly text: string
  /** Ids of the uploads to put together; null for an upload that is to be one of them. */
  readonly partials: readonly string[] | null
}

/** `partial`, or `final;` and the addresses of partial uploads. */
export const readConcatenation = (header: ReadHeader): Concatenation | undefined => {
  const text = header("upload-concat")?.trim()
  if (text === undefined) return undefined
  if (text === "partial") return { text, partials: null }
  const list = /^final; *(.+)$/.exec(text)?.[1]
  if (list === undefined) throw refuse("upload-concat is neither partial nor final with a list")
  const partials = list.split(/ +/).map(readUploadAddress)
  if (partials.length > PARTIALS_MAX || new Set(partials).size < partials.length)
    throw refuse(`upload-concat names an upload twice, or more than ${PARTIALS_MAX}`)
  if (header("upload-length") !== undefined || header("upload-defer-length") !== undefined)
    throw refuse("the length of a final upload is that of its parts")
  return { text, partials }
}

/** The length that comes with a later request, where it was deferred. */
export const readLateLength = (header: ReadHeader): number | undefined => readNumber(header, "upload-length")

/** The digest that the body of this request must have. */
export const readUploadChecksum = (header: ReadHeader): Digests | undefined => {
  const text = header("upload-checksum")
  if (text === undefined) return undefined
  const [name = "", digest = ""] = text.trim().split(/ +/)
  const algorithm = ALGORITHMS.find(known => known === name)
  if (!algorithm) throw refuse(`upload-checksum is none of ${ALGORITHMS.join(", ")}`)
  return { [algorithm]: Buffer.from(digest, "base64") }
}

const readPairs = (text: string): Map<string, string> =>
  new Map(
    text.split(",").flatMap(pair => {
      const [name = "", value = ""] = pair.trim().split(/ +/)
      return name === "" ? [] : [[name, Buffer.from(value, "base64").toString("utf8")] as const]
    }),
  )

const METADATA_LENGTH_MAX = 8192

const readCustom = (text: string | undefined): Record<string, string> => {
  if (text === undefined || text === "") return {}
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, String(field)]))
  } catch {
    // Said below.
  }
  throw refuse("metadata in upload-metadata is not a JSON object")
}

export interface UploadMetadata extends ObjectAttributes {
  readonly bucket: string
  readonly key: string
  readonly text: string
}

export const readMetadataText = (header: ReadHeader): string => {
  const text = header("upload-metadata") ?? ""
  if (text.length > METADATA_LENGTH_MAX) throw refuse("upload-metadata is too long")
  return text
}

/** Our names, and those of Supabase's clients. */
export const readUploadMetadata = (header: ReadHeader): UploadMetadata => {
  const text = readMetadataText(header)
  const pairs = readPairs(text)
  const bucket = pairs.get("bucket") ?? pairs.get("bucketName")
  const key = pairs.get("key") ?? pairs.get("objectName")
  if (bucket === undefined) throw refuse("upload-metadata names no bucket")
  if (key === undefined) throw refuse("upload-metadata names no key")
  if (!bucket.isWellFormed() || bucket.includes("\0") || bucket.length > 255)
    throw refuse("bucket in upload-metadata is not a name")
  const contentType = pairs.get("contentType") ?? pairs.get("filetype")
  const cacheControl = pairs.get("cacheControl")
  const attributes = {
    http: {
      ...(contentType !== undefined && { contentType }),
      // Supabase's clients give a number of seconds.
      ...(cacheControl !== undefined && {
        cacheControl: /^\d+$/.test(cacheControl) ? `max-age=${cacheControl}` : cacheControl,
      }),
    },
    metadata: readCustom(pairs.get("metadata")),
  }
  return { bucket, key, text, ...checkAttributes(attributes) }
}
