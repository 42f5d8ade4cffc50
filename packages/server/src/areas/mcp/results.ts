/** What a model is given of a reply. */
import { Readable } from "node:stream"
import type { areas, Output, Reply } from "@svc/contract"
import { isJsonObject } from "../../kernel/json-object.ts"

export type ToolResult = Output<(typeof areas.mcp.specs)["call"]>

/** About ten thousand tokens. */
export const RESULT_LENGTH_MAX = 40_000
const BYTES_MAX = 1024 * 1024

export const textResult = (text: string, structured?: Record<string, unknown>): ToolResult => ({
  content: [{ type: "text", text }],
  ...(structured && { structuredContent: structured }),
  isError: false,
})

export const errorResult = (text: string): ToolResult => ({
  content: [{ type: "text", text }],
  isError: true,
})

/** Half of a surrogate pair at the cut belongs to the part that is left out. */
const cutAt = (text: string, length: number): string =>
  /[\uD800-\uDBFF]/.test(text[length - 1] ?? "") ? text.slice(0, length - 1) : text.slice(0, length)

const cutResult = (text: string): ToolResult => {
  const shown = cutAt(text, RESULT_LENGTH_MAX)
  return {
    content: [
      { type: "text", text: shown },
      {
        type: "text",
        text: `This is the beginning: ${shown.length} of ${text.length} characters. Ask for less, by a filter, a limit or fewer columns.`,
      },
    ],
    isError: false,
  }
}

/** Structured content is an object in every revision of the protocol. */
export const jsonResult = (value: unknown): ToolResult => {
  const text = JSON.stringify(value)
  if (text.length > RESULT_LENGTH_MAX) return cutResult(text)
  return textResult(text, isJsonObject(value) ? value : { result: value })
}

interface Refusal {
  readonly code: string
  readonly error: string
  readonly docs_url?: string
  readonly errors?: readonly { readonly location: string; readonly message: string }[]
  readonly details?: unknown
}

const refusalResult = (status: number, body: unknown): ToolResult => {
  if (!isJsonObject(body) || typeof body.code !== "string")
    return errorResult(`The tool failed with ${status}.`)
  const { code, error, docs_url, errors = [], details } = body as unknown as Refusal
  const lines = [
    `${code}: ${error}`,
    ...errors.map(({ location, message }) => `- ${location} ${message}`),
    ...(details === undefined ? [] : [JSON.stringify(details)]),
    ...(docs_url === undefined ? [] : [`See ${docs_url}`]),
  ]
  return errorResult(lines.join("\n").slice(0, RESULT_LENGTH_MAX))
}

/** At most `BYTES_MAX` of the bytes; undefined where there are more. */
const readBytes = async (body: Readable): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of body) {
    const bytes = Buffer.from(chunk)
    length += bytes.length
    // Leaving the loop destroys the source.
    if (length > BYTES_MAX) return undefined
    chunks.push(bytes)
  }
  return Buffer.concat(chunks)
}

const decoder = new TextDecoder("utf-8", { fatal: true })

const asText = (bytes: Uint8Array): string | undefined => {
  try {
    const text = decoder.decode(bytes)
    return text.includes("\0") ? undefined : text
  } catch {
    return undefined
  }
}

const bytesResult = (bytes: Uint8Array, type: string, uri: string): ToolResult => {
  const text = asText(bytes)
  if (text !== undefined) return text.length > RESULT_LENGTH_MAX ? cutResult(text) : textResult(text)
  const data = Buffer.from(bytes).toString("base64")
  const image = { type: "image", data, mimeType: type }
  const resource = { type: "resource", resource: { uri, mimeType: type, blob: data } }
  return { content: [type.startsWith("image/") ? image : resource], isError: false }
}

const TOO_LARGE = `The reply has more than ${BYTES_MAX} bytes. Make a link to it by presign_object, or read it in a sandbox.`

/** `uri` names what was read. */
export const resultOf = async ({ status, body, headers }: Reply, uri: string): Promise<ToolResult> => {
  if (status >= 400 && !(body instanceof Readable) && !(body instanceof Uint8Array))
    return refusalResult(status, body)
  if (body === undefined || body === null) return textResult(`Done (${status}).`)
  if (!(body instanceof Readable) && !(body instanceof Uint8Array)) return jsonResult(body)
  const bytes = body instanceof Readable ? await readBytes(body) : body
  if (!bytes) return errorResult(TOO_LARGE)
  const result = bytesResult(bytes, headers?.["content-type"] ?? "application/octet-stream", uri)
  return status >= 400 ? { ...result, isError: true } : result
}
