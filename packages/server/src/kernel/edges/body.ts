import type { IncomingMessage } from "node:http"
import { fault } from "../fault.ts"

/** A body that stops arriving holds a connection; a client that is alive sends something within this time. */
const BODY_IDLE_MS = 15_000
const BODY_TOTAL_MS = 60_000

const JSON_TYPE = /^application\/(?:json|[\w.+-]+\+json) *(?:; *charset="?utf-8"?)? *$/i

const checkType = (request: IncomingMessage) => {
  const type = request.headers["content-type"]
  if (type !== undefined && !JSON_TYPE.test(type)) throw fault("unsupported_media_type")
  const encoding = request.headers["content-encoding"]
  if (encoding !== undefined && encoding !== "identity") throw fault("unsupported_media_type")
}

/** The whole body, at most `bytesMax` long; 413 beyond, 408 when it comes too slowly. */
const collect = (request: IncomingMessage, bytesMax: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    let idle: NodeJS.Timeout | undefined
    let total: NodeJS.Timeout | undefined

    const end = (settle: () => void) => {
      clearTimeout(idle)
      clearTimeout(total)
      request.off("data", take).off("end", done).off("error", broken).off("close", broken)
      settle()
    }
    const late = () => end(() => reject(fault("request_timeout")))
    const broken = () => end(() => reject(fault("request_timeout")))
    const done = () => end(() => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)))
    const take = (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > bytesMax) return end(() => reject(fault("payload_too_large", { bytes: bytesMax })))
      chunks.push(chunk)
      // Most bodies are whole in one chunk; only one that is not needs watching.
      if (idle) idle.refresh()
      else if (!request.complete) {
        idle = setTimeout(late, BODY_IDLE_MS)
        total = setTimeout(late, BODY_TOTAL_MS)
      }
    }
    request.on("data", take).on("end", done).on("error", broken).on("close", broken)
    if (!request.complete && bytes === 0) idle = setTimeout(late, BODY_IDLE_MS)
  })

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** Reads and parses a JSON body; undefined when the request has none. */
export const readJson = async (request: IncomingMessage, bytesMax: number): Promise<unknown> => {
  const declared = request.headers["content-length"]
  if (request.headers["transfer-encoding"] === undefined && (declared === undefined || declared === "0"))
    return undefined
  checkType(request)
  if (declared !== undefined && Number(declared) > bytesMax)
    throw fault("payload_too_large", { bytes: bytesMax })
  const body = await collect(request, bytesMax)
  if (body.length === 0) return undefined
  try {
    return JSON.parse(utf8.decode(body))
  } catch {
    throw fault("invalid_json")
  }
}
