import { isUtf8 } from "node:buffer"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Clock } from "../clock.ts"
import { every } from "../every.ts"
import { parseJson } from "../exact-json.ts"
import { type Fault, fault } from "../fault.ts"
import { parseForm } from "./form.ts"

/** A body that stops arriving holds a connection; a client that is alive sends something within this time. */
const IDLE_TICKS = 15
const TOTAL_TICKS = 60
const TICK_MS = 1000

const JSON_TYPE = /^application\/(?:json|[\w.+-]+\+json) *(?:; *charset="?utf-8"?)? *$/i
const FORM_TYPE = /^application\/x-www-form-urlencoded *(?:; *charset="?utf-8"?)? *$/i
const TEXT_TYPE = /^text\/plain *(?:; *charset="?utf-8"?)? *$/i

/** A body under way, as the watch sees it. */
interface Reading {
  ticks: number
  idleTicks: number
  /** Where it has to end in time as a whole. */
  readonly isTimed: boolean
  /** True if no bytes arrived since the last call. */
  isIdle?(): boolean
  refuse(why: Fault): void
}

export interface BodyReader extends Disposable {
  /**
   * Reads and parses a JSON body of at most `bytesMax`; undefined when the request has none. Throws 415 for another
   * type, of which text/plain is taken with `textToo`, 413 for a larger one, 408 for one that comes too slowly, 400 for one that is not JSON. `kept` keeps its bytes.
   */
  json(
    request: IncomingMessage,
    response: ServerResponse,
    limits: { readonly bytesMax: number; readonly textToo: boolean },
    kept?: { bytes: Buffer | undefined },
  ): Promise<unknown>
  /** Reads the fields of a form, under the same limits; undefined when the request has no body. */
  form(
    request: IncomingMessage,
    response: ServerResponse,
    bytesMax: number,
    kept?: { bytes: Buffer | undefined },
  ): Promise<Record<string, string | string[]> | undefined>
  /**
   * The body as it comes, as large as it is: its reader bounds it. It breaks off with 408 when its sender stops for too
   * long; that its reader takes its time is no fault of the sender's.
   */
  stream(request: IncomingMessage, response: ServerResponse): IncomingMessage
}

/** Whether a body belongs to the request, empty or not. */
export const hasBody = ({ headers }: IncomingMessage): boolean => {
  const length = headers["content-length"]
  return (length !== undefined && length !== "0") || headers["transfer-encoding"] !== undefined
}

/** Tells a client that asked first to send its body. One that is refused never gets that far. */
const inviteBody = (request: IncomingMessage, response: ServerResponse): void => {
  if (request.headers.expect?.toLowerCase() === "100-continue") response.writeContinue()
}

const isEncoded = ({ headers }: IncomingMessage): boolean =>
  headers["content-encoding"] !== undefined && headers["content-encoding"] !== "identity"

const checkType = (request: IncomingMessage, textToo: boolean) => {
  const type = request.headers["content-type"]
  const isKnown = type === undefined || JSON_TYPE.test(type) || (textToo && TEXT_TYPE.test(type))
  if (!isKnown || isEncoded(request))
    throw fault("unsupported_media_type", { types: "application/json in UTF-8" })
}

const checkFormType = (request: IncomingMessage) => {
  if (!FORM_TYPE.test(request.headers["content-type"] ?? "") || isEncoded(request))
    throw fault("unsupported_media_type", { types: "application/x-www-form-urlencoded" })
}

const tooLarge = (bytesMax: number): Fault => fault("payload_too_large", { bytes: bytesMax })

/**
 * The bodies under way, by connection: each has one at most. A connection keeps its place while it lives, because a
 * table in which every request comes and goes is rebuilt all the time, and each old table keeps the requests that were
 * in it from being collected while they are young.
 */
type Unfinished = Map<Socket, Reading | undefined>

const watchFor = ({ socket }: IncomingMessage, unfinished: Unfinished, reading: Reading) => {
  if (!unfinished.has(socket)) socket.once("close", () => unfinished.delete(socket))
  unfinished.set(socket, reading)
}

/** The end of a body is told later than the next request on its connection may begin. */
const unwatch = ({ socket }: IncomingMessage, unfinished: Unfinished, reading: Reading) => {
  if (unfinished.get(socket) === reading) unfinished.set(socket, undefined)
}

const collect = (request: IncomingMessage, bytesMax: number, unfinished: Unfinished): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    let isOpen = true
    /** True the first time: what happens after a body has ended or was refused is no longer ours. */
    const close = (): boolean => {
      const was = isOpen
      isOpen = false
      if (was) unwatch(request, unfinished, reading)
      return was
    }
    const refuse = (why: Fault) => {
      if (close()) reject(why)
    }
    const reading: Reading = { ticks: 0, idleTicks: 0, isTimed: true, refuse }
    watchFor(request, unfinished, reading)
    request
      .on("data", (chunk: Buffer) => {
        reading.idleTicks = 0
        bytes += chunk.length
        if (bytes <= bytesMax) chunks.push(chunk)
        else if (isOpen) refuse(tooLarge(bytesMax))
      })
      .on("end", () => {
        if (close()) resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks))
      })
      .on("close", () => {
        // Every request comes by here, and a fault with its stack is dearer than the rest of reading.
        if (isOpen) refuse(fault("request_timeout"))
      })
  })

const watchStream = (request: IncomingMessage, unfinished: Unfinished): void => {
  const { socket } = request
  let bytesBefore = -1
  const reading: Reading = {
    ticks: 0,
    idleTicks: 0,
    isTimed: false,
    isIdle() {
      const cameNothing = socket.bytesRead === bytesBefore
      bytesBefore = socket.bytesRead
      // While the reader has not taken all there is, the sender waits for us.
      return cameNothing && request.readableLength === 0
    },
    refuse: why => request.destroy(why),
  }
  watchFor(request, unfinished, reading)
  request.once("close", () => unwatch(request, unfinished, reading))
}

const parse = (body: Buffer): unknown => {
  // A decoder that refuses bad bytes by itself takes three times as long.
  if (!isUtf8(body)) throw fault("invalid_json")
  try {
    const text = body.toString()
    // A byte order mark is no part of the text.
    return parseJson(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)
  } catch {
    throw fault("invalid_json")
  }
}

export const createBodyReader = (clock: Clock): BodyReader => {
  const unfinished: Unfinished = new Map()

  // One watch for all bodies: a timer for each would cost more than reading it does.
  const watch = every(clock, TICK_MS, () => {
    for (const reading of unfinished.values()) {
      if (!reading) continue
      reading.ticks += 1
      reading.idleTicks = reading.isIdle?.() === false ? 0 : reading.idleTicks + 1
      if (reading.idleTicks > IDLE_TICKS || (reading.isTimed && reading.ticks > TOTAL_TICKS))
        reading.refuse(fault("request_timeout"))
    }
  })

  /** The whole body. */
  const read = async (
    request: IncomingMessage,
    response: ServerResponse,
    bytesMax: number,
    kept: { bytes: Buffer | undefined } | undefined,
  ): Promise<Buffer> => {
    if (Number(request.headers["content-length"] ?? 0) > bytesMax) throw tooLarge(bytesMax)
    inviteBody(request, response)
    const body = await collect(request, bytesMax, unfinished)
    if (kept) kept.bytes = body
    return body
  }

  return {
    async json(request, response, { bytesMax, textToo }, kept) {
      if (!hasBody(request)) return undefined
      checkType(request, textToo)
      const body = await read(request, response, bytesMax, kept)
      return body.length === 0 ? undefined : parse(body)
    },
    async form(request, response, bytesMax, kept) {
      if (!hasBody(request)) return undefined
      checkFormType(request)
      return parseForm((await read(request, response, bytesMax, kept)).toString())
    },
    stream(request, response) {
      if (!hasBody(request)) return request
      inviteBody(request, response)
      watchStream(request, unfinished)
      return request
    },
    [Symbol.dispose]: () => watch[Symbol.dispose](),
  }
}
