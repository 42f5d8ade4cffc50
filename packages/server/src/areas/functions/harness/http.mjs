/** Requests and replies of HTTP, as handlers of either kind see and give them. */
import { limits, parse, Refusal, send, stringify } from "./channel.mjs"

export const requestOf = ({ method, url, headers, body }, signal) => {
  const hasBody = method !== "GET" && method !== "HEAD" && body !== ""
  return new Request(url, { method, headers, signal, ...(hasBody && { body: Buffer.from(body, "base64") }) })
}

/** The shape that AWS gives functions behind a URL, version 2.0. */
export const eventOf = ({ method, url, headers, body }) => {
  const { pathname, search, searchParams } = new URL(url)
  const bytes = Buffer.from(body, "base64")
  const text = bytes.toString()
  const isText = Buffer.from(text).equals(bytes)
  return {
    version: "2.0",
    rawPath: pathname,
    rawQueryString: search.slice(1),
    headers: Object.fromEntries(headers),
    queryStringParameters: Object.fromEntries(searchParams),
    requestContext: { http: { method, path: pathname } },
    body: bytes.length === 0 ? null : isText ? text : body,
    isBase64Encoded: !isText,
  }
}

export const replyFrom = result => {
  if (typeof result === "object" && result !== null && "statusCode" in result) {
    const { statusCode, headers = {}, body = "", isBase64Encoded = false } = result
    const text = typeof body === "string" ? body : stringify(body)
    return {
      status: Number(statusCode),
      headers: Object.entries(headers).map(([name, value]) => [name, String(value)]),
      body: isBase64Encoded ? text : Buffer.from(text).toString("base64"),
    }
  }
  const text = stringify(result ?? null)
  return {
    status: 200,
    headers: [["content-type", "application/json"]],
    body: Buffer.from(text).toString("base64"),
  }
}

export const plainRequest = event =>
  new Request("http://function/", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: stringify(event),
  })

const checkResponse = response => {
  if (!(response instanceof Response)) throw new Refusal("InvalidResponse", "fetch must give a Response")
}

export const resultFrom = async response => {
  checkResponse(response)
  const text = await response.text()
  return response.headers.get("content-type")?.includes("json") && text !== "" ? parse(text) : text
}

/** A body of more than this is sent as it comes, though it may be there whole. */
const WHOLE_BYTES_MAX = 262_144
const CHUNK_BYTES_MAX = 49_152
const LATE = Symbol("late")

/** Replies that are sent as they come, by invocation. */
const streams = new Map()

/** The platform has room for so many bytes more. */
export const more = ({ i, bytes }) => {
  const stream = streams.get(i)
  if (!stream) return
  stream.credit += bytes
  stream.wake?.()
}

const createStream = (id, signal) => {
  const stream = { credit: limits.windowBytes, sent: 0, wake: undefined }
  streams.set(id, stream)
  signal.addEventListener("abort", () => stream.wake?.(), { once: true })
  return {
    async put(bytes) {
      for (let at = 0; at < bytes.length && !signal.aborted; ) {
        if (stream.credit <= 0) {
          await new Promise(resolve => {
            stream.wake = resolve
          })
          continue
        }
        const part = bytes.subarray(at, at + Math.min(stream.credit, CHUNK_BYTES_MAX))
        at += part.length
        stream.credit -= part.length
        stream.sent += part.length
        if (stream.sent > limits.streamBytes)
          throw new Refusal("ResponseTooLarge", `a reply has at most ${limits.streamBytes} bytes`)
        const b = Buffer.from(part.buffer, part.byteOffset, part.length).toString("base64")
        send({ t: "chunk", i: id, b })
      }
    },
    end: () => streams.delete(id),
  }
}

const demandBytes = chunk => {
  if (!(chunk instanceof Uint8Array)) throw new TypeError("a body's stream must give Uint8Arrays")
  return chunk
}

/** What is there without waiting; `rest` is the read under way where there is more. */
const readReady = async reader => {
  const soon = new Promise(resolve => setImmediate(resolve, LATE))
  const chunks = []
  let bytes = 0
  for (;;) {
    const rest = reader.read()
    const found = bytes > WHOLE_BYTES_MAX ? LATE : await Promise.race([rest, soon])
    if (found === LATE) return { chunks, rest }
    if (found.done) return { chunks }
    chunks.push(demandBytes(found.value))
    bytes += found.value.length
  }
}

/**
 * Gives the fields of the reply: all of it when it is there at once. Otherwise status and headers go out first and the
 * body follows as it is made and as its caller takes it; `signal` tells that nobody does any more.
 */
export const replyOf = async (id, response, signal) => {
  checkResponse(response)
  const head = { status: response.status, headers: [...response.headers] }
  if (response.body === null) return { reply: { ...head, body: "" } }
  const reader = response.body.getReader()
  const stop = reason => void reader.cancel(reason).catch(() => undefined)
  signal.addEventListener("abort", () => stop(signal.reason), { once: true })
  if (signal.aborted) stop(signal.reason)
  const { chunks, rest } = await readReady(reader)
  if (!rest) return { reply: { ...head, body: Buffer.concat(chunks).toString("base64") } }
  send({ t: "head", i: id, reply: head })
  const stream = createStream(id, signal)
  try {
    for (const chunk of chunks) await stream.put(chunk)
    for (let found = await rest; !found.done; found = await reader.read())
      await stream.put(demandBytes(found.value))
  } catch (error) {
    stop(error)
    throw error
  } finally {
    stream.end()
  }
  if (signal.aborted) throw new Refusal("Cancelled", "the caller left before the reply had ended")
  return {}
}
