/** Headers that storage's operations read. */
import { T, type TSchema } from "./dsl.ts"

const optional = (description: string, options: object = {}) =>
  T.Optional(T.String({ description, ...options }))

const Tags = "ETags in quotes, separated by commas, or `*`"

const unchanged = {
  "If-Match": optional(`Only if the object has one of these ETags. ${Tags}`),
  "If-Unmodified-Since": optional("Only if the object has not changed since; an HTTP date"),
}

const changed = {
  "If-None-Match": optional(`Only if the object has none of these ETags. ${Tags}`),
  "If-Modified-Since": optional("Only if the object has changed since; an HTTP date"),
}

/** Headers of a request that reads the headers of an object. */
export const ReadConditions = T.Object({ ...unchanged, ...changed })

/** Headers of a request that reads an object. */
export const ReadHeaders = T.Object({
  ...unchanged,
  ...changed,
  Range: optional("One range of bytes, as `bytes=0-99`; invalid ranges are ignored"),
  "If-Range": optional("ETag or HTTP date; if the object is another, `Range` is ignored"),
})

/** Headers of a request that changes or deletes an object. */
export const WriteConditions = T.Object({ ...unchanged, ...changed })

/** Base64 of so many bytes, the last character's unused bits zero. */
const digest = (name: string, bytes: number): TSchema => {
  const whole = Math.floor(bytes / 3) * 4
  const end = bytes % 3 === 1 ? "[A-Za-z0-9+/][AQgw]==" : "[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]="
  const pattern = `^[A-Za-z0-9+/]{${whole}}${end}$`
  return optional(`${name} of the body in base64; checked`, { pattern })
}

const checksums = {
  "Content-MD5": digest("MD5", 16),
  "X-Svc-Checksum-CRC32": digest("CRC-32", 4),
  "X-Svc-Checksum-CRC32C": digest("CRC-32C", 4),
  "X-Svc-Checksum-CRC64NVME": digest("CRC-64/NVME", 8),
  "X-Svc-Checksum-SHA1": digest("SHA-1", 20),
  "X-Svc-Checksum-SHA256": digest("SHA-256", 32),
}

/** Headers of an uploaded part. */
export const PartHeaders = T.Object(checksums)

const attributes = {
  "Cache-Control": optional("Returned with the object"),
  "Content-Disposition": optional("Returned with the object"),
  "Content-Encoding": optional("Returned with the object"),
  "Content-Language": optional("Returned with the object"),
  Expires: optional("Returned with the object"),
}

/** Headers of a request whose body becomes an object; `X-Svc-Meta-*` are metadata of the caller. */
export const SignedUploadHeaders = T.Object({ ...checksums, ...attributes })
export const UploadHeaders = T.Object({ ...unchanged, ...changed, ...checksums, ...attributes })

const tus = {
  "Tus-Resumable": T.String({ enum: ["1.0.0"], description: "The version of tus" }),
}
const Length = optional("Bytes of the whole object", { pattern: "^[0-9]{1,15}$" })
const Checksum = optional(
  "`sha256` (or `md5`, `sha1`, `crc32`), a space, and the digest of this body in base64",
)

export const TusHeaders = T.Object(tus)

export const TusCreateHeaders = T.Object({
  ...tus,
  "Upload-Length": Length,
  "Upload-Defer-Length": optional("`1`: a later request has the length", { enum: ["1"] }),
  "Upload-Metadata": optional(
    "Pairs of a name and a value in base64, as `bucket cGhvdG9z,key YS5qcGc=`; needed but for partial uploads",
    { maxLength: 8192 },
  ),
  "Upload-Concat": optional(
    "`partial`, or `final;` and the addresses of partial uploads with spaces between",
    {
      pattern: "^(partial|final;.+)$",
    },
  ),
  "Upload-Checksum": Checksum,
})

export const TusPatchHeaders = T.Object({
  ...tus,
  "Upload-Offset": T.String({ pattern: "^[0-9]{1,15}$", description: "Bytes that have arrived" }),
  "Upload-Length": Length,
  "Upload-Checksum": Checksum,
})
