import { pipeline, type Readable, Transform } from "node:stream"
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib"
import { OutboundError } from "./outbound.ts"

/** Errors after the connection was made. Unexpected errors are rethrown, because they are bugs. */
export const exchangeError = (error: unknown): OutboundError => {
  if (error instanceof OutboundError) return error
  const { code, name } = error as NodeJS.ErrnoException
  const isForeseen = code !== undefined || name === "HTTPParserError"
  if (!isForeseen || code === "UND_ERR_INVALID_ARG") throw error
  if (code === "UND_ERR_HEADERS_OVERFLOW")
    return new OutboundError({ kind: "too_large", message: "The answer's headers are too long." }, error)
  return new OutboundError(
    { kind: "broken", message: `The answer broke off: ${code ?? "it is not HTTP"}.` },
    error,
  )
}

export const tooLarge = (bytesMax: number): OutboundError =>
  new OutboundError({ kind: "too_large", message: `The answer is longer than ${bytesMax} bytes.` })

export type Decoder = () => Transform

const decoders: Readonly<Record<string, Decoder>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  br: createBrotliDecompress,
  deflate: createInflate,
}

/** Undefined for no or an unrequested encoding: the body is then passed on unchanged. */
export const decoderOf = (encoding: string | undefined): Decoder | undefined =>
  encoding !== undefined && Object.hasOwn(decoders, encoding) ? decoders[encoding] : undefined

export interface BodyOptions {
  readonly decoder: Decoder | undefined
  readonly bytesMax: number
  /** Its reason is what the body fails with once it is aborted. */
  readonly signal: AbortSignal
  /** Called once, when the source is at its end or given up. */
  readonly onEnd?: () => void
}

/** The body as the caller reads it, decoded, bounded, and with OutboundErrors for everything that happens to it. */
export const shapeBody = (source: Readable, { decoder, bytesMax, signal, onEnd }: BodyOptions): Readable => {
  let bytes = 0
  const bounded = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      bytes += chunk.length
      if (bytes > bytesMax) next(tooLarge(bytesMax))
      else next(null, chunk)
    },
    destroy(error, next) {
      if (error === null) next(null)
      else next(signal.aborted ? signal.reason : exchangeError(error))
    },
  })
  // A caller that forgot its stream must not end the process when the deadline destroys it.
  bounded.on("error", () => undefined)
  pipeline([source, ...(decoder ? [decoder()] : []), bounded], () => onEnd?.())
  return bounded
}

export interface ReadBody {
  readonly body: Buffer
  /** Whether there was more, which was not read. */
  readonly truncated: boolean
}

/** The first bytes of a body, which is destroyed where it has more. */
export const readBody = (source: Readable, bytesMax: number): Promise<ReadBody> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let room = bytesMax
    source.on("data", (chunk: Buffer) => {
      if (room < 0) return
      chunks.push(chunk.length > room ? chunk.subarray(0, room) : chunk)
      room -= chunk.length
      if (room >= 0) return
      resolve({ body: Buffer.concat(chunks), truncated: true })
      source.destroy()
    })
    source.once("end", () => resolve({ body: Buffer.concat(chunks), truncated: false }))
    source.on("error", reject)
  })
