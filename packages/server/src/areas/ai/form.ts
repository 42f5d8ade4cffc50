/** `multipart/form-data` (RFC 7578) as far as the gateway looks into it: which model is asked for, and whether there is a file. */
import { fault } from "../../kernel/fault.ts"

export interface ReadForm {
  readonly model: string | undefined
  /** Where the part of `model` is in the body, its delimiter included. */
  readonly modelAt: { readonly from: number; readonly to: number } | undefined
  /** Bytes of `file`; undefined where there is none. */
  readonly fileBytes: number | undefined
}

const PARTS_MAX = 100
const HEADERS_BYTES_MAX = 8_192
const BOUNDARY = /^multipart\/form-data\s*;(?:.*;)?\s*boundary=(?:"([^"\r\n]{1,70})"|([^\s;"]{1,70}))/i
const NAME = /^content-disposition:[^\r\n]*?[;\s]name="([^"\r\n]*)"/im

/** Undefined for another type, or one without a boundary. */
export const boundaryOf = (contentType: string): string | undefined => {
  const [, quoted, plain] = BOUNDARY.exec(contentType) ?? []
  return quoted ?? plain
}

const malformed = () =>
  fault("invalid_parameter", { reason: "the body is not the multipart/form-data that it claims to be" })

/** Throws `invalid_parameter` for what is no such form. */
export const readForm = (body: Buffer, boundary: string): ReadForm => {
  const delimiter = Buffer.from(`--${boundary}`)
  let from = body.indexOf(delimiter)
  if (from < 0) throw malformed()
  let form: ReadForm = { model: undefined, modelAt: undefined, fileBytes: undefined }
  for (let parts = 0; parts < PARTS_MAX; parts++) {
    const start = from + delimiter.length
    if (body.toString("latin1", start, start + 2) === "--") return form
    const headersEnd = body.indexOf("\r\n\r\n", start)
    const next = body.indexOf(Buffer.from(`\r\n--${boundary}`), start)
    if (headersEnd < 0 || next < 0 || headersEnd - start > HEADERS_BYTES_MAX || next < headersEnd)
      throw malformed()
    const [, name] = NAME.exec(body.toString("utf8", start + 2, headersEnd)) ?? []
    const valueAt = headersEnd + 4
    if (name === "file") form = { ...form, fileBytes: Math.max(0, next - valueAt) }
    if (name === "model") {
      const model = body.toString("utf8", valueAt, Math.max(valueAt, next)).trim()
      form = { ...form, model: model || undefined, modelAt: { from, to: next + 2 } }
    }
    from = next + 2
  }
  throw malformed()
}

/** The same form with another model. */
export const withModel = (body: Buffer, { modelAt }: ReadForm, boundary: string, model: string): Buffer => {
  const part = `--${boundary}\r\nContent-Disposition: form-data; name="model"\r\n\r\n${model}\r\n`
  const { from, to } = modelAt ?? { from: body.indexOf(`--${boundary}`), to: body.indexOf(`--${boundary}`) }
  return Buffer.concat([body.subarray(0, from), Buffer.from(part), body.subarray(to)])
}
