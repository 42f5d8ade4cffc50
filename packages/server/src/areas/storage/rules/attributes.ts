/** What is kept with an object and sent with it, as headers and back. */
import { OBJECT_METADATA_BYTES_MAX } from "@svc/contract"
import { fault } from "../../../kernel/fault.ts"
import type { Checksums, HttpMetadata, ObjectAttributes } from "../object-store.ts"

interface Headers {
  header(name: string): string | undefined
  headerNames(): readonly string[]
}

export const HTTP_HEADERS = {
  contentType: "content-type",
  contentEncoding: "content-encoding",
  contentDisposition: "content-disposition",
  contentLanguage: "content-language",
  cacheControl: "cache-control",
  expires: "expires",
} as const satisfies Record<keyof Required<HttpMetadata>, string>

type HttpField = keyof typeof HTTP_HEADERS
export const HTTP_FIELDS = Object.keys(HTTP_HEADERS) as readonly HttpField[]

const META_PREFIXES = ["x-svc-meta-", "x-amz-meta-"] as const
const NAME = /^[a-z0-9!#$%&'*+.^_`|~-]+$/
const VALUE_LENGTH_MAX = 1024
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what must not be in a header
const UNSENDABLE = /[\u0000-\u0008\u000a-\u001f\u007f]/

/** Node reads headers as Latin-1; what was sent is UTF-8 where it can be that. */
const decodeHeader = (text: string): string => {
  const bytes = Buffer.from(text, "latin1")
  const decoded = bytes.toString("utf8")
  return decoded.includes("\ufffd") ? text : decoded
}

export const encodeHeader = (text: string): string => Buffer.from(text, "utf8").toString("latin1")

const refuse = (reason: string): never => {
  throw fault("invalid_parameter", { reason })
}

const checkValue = (name: string, value: string) => {
  if (value.length > VALUE_LENGTH_MAX && name in HTTP_HEADERS)
    refuse(`${name} has more than ${VALUE_LENGTH_MAX} characters`)
  if (UNSENDABLE.test(value) || !value.isWellFormed()) refuse(`${name} holds what a header cannot carry`)
}

/** Attributes from wherever they came. Throws 400 for what could not be sent again as headers. */
export const checkAttributes = ({ http, metadata }: ObjectAttributes): ObjectAttributes => {
  for (const [name, value] of Object.entries(http)) checkValue(name, value)
  const lower: Record<string, string> = {}
  let bytes = 0
  for (const [given, value] of Object.entries(metadata)) {
    const name = given.toLowerCase()
    if (!NAME.test(name)) refuse("a name of custom metadata is no name of a header")
    checkValue("custom metadata", value)
    if (Object.hasOwn(lower, name)) refuse("a name of custom metadata comes twice")
    lower[name] = value
    bytes += name.length + Buffer.byteLength(value)
  }
  if (bytes > OBJECT_METADATA_BYTES_MAX)
    refuse(`custom metadata has more than ${OBJECT_METADATA_BYTES_MAX} bytes`)
  return { http, metadata: lower }
}

export const readAttributes = (request: Headers): ObjectAttributes => {
  const http: Record<string, string> = {}
  for (const field of HTTP_FIELDS) {
    const value = request.header(HTTP_HEADERS[field])
    if (value !== undefined && value !== "") http[field] = decodeHeader(value)
  }
  const metadata: Record<string, string> = {}
  for (const name of request.headerNames()) {
    const prefix = META_PREFIXES.find(prefix => name.startsWith(prefix) && name.length > prefix.length)
    if (prefix) metadata[name.slice(prefix.length)] = decodeHeader(request.header(name) ?? "")
  }
  return checkAttributes({ http, metadata })
}

/** The stored headers, the metadata's names behind the prefix, and the checksums. */
export const attributeHeaders = ({
  http,
  metadata,
  checksums,
}: ObjectAttributes & { readonly checksums: Checksums }): Record<string, string> => {
  const headers: Record<string, string> = {
    "content-type": encodeHeader(http.contentType ?? "application/octet-stream"),
  }
  for (const field of HTTP_FIELDS) {
    const value = http[field]
    if (value !== undefined) headers[HTTP_HEADERS[field]] = encodeHeader(value)
  }
  for (const [name, value] of Object.entries(metadata)) headers[`x-svc-meta-${name}`] = encodeHeader(value)
  for (const [name, value] of Object.entries(checksums)) headers[`x-svc-checksum-${name}`] = value
  return headers
}

const WIRE_FIELDS = {
  contentType: "content_type",
  contentEncoding: "content_encoding",
  contentDisposition: "content_disposition",
  contentLanguage: "content_language",
  cacheControl: "cache_control",
  expires: "expires",
} as const satisfies Record<HttpField, string>

export const httpToWire = (http: HttpMetadata): Record<string, string> =>
  Object.fromEntries(
    HTTP_FIELDS.flatMap(field => {
      const value = http[field]
      return value === undefined ? [] : [[WIRE_FIELDS[field], value]]
    }),
  )

type WireHttp = { readonly [Name in (typeof WIRE_FIELDS)[HttpField]]?: string }

export const httpFromWire = (wire: WireHttp): HttpMetadata =>
  Object.fromEntries(
    HTTP_FIELDS.flatMap(field => {
      const value = wire[WIRE_FIELDS[field]]
      return value === undefined ? [] : [[field, value]]
    }),
  )
