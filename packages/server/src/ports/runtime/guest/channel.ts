/** One thing that the agent does for us: its streams, and how it ends. */
import { Readable, Writable } from "node:stream"
import { PortError, type PortErrorKind } from "../../port-error.ts"
import { CHUNK_BYTES, type Frame, frameTypes, numbers, readWords, WINDOW_BYTES } from "./frames.ts"

export type Send = (type: number, payload?: Uint8Array, more?: Uint8Array) => void

export interface Channel {
  /** What the agent said when it began; rejects when it could not. */
  readonly opened: Promise<Buffer>
  /** What it said at the end; rejects when the workload ended before. */
  readonly exited: Promise<Buffer>
  /** To the agent, by number of the stream. */
  readonly input: Writable
  output(stream: 1 | 2): Readable
  readonly send: Send
  take(frame: Frame): void
  /** The workload has ended. */
  break(error: PortError): void
}

const kinds: ReadonlySet<string> = new Set(["missing", "refused", "unavailable"] satisfies PortErrorKind[])

const failureIn = (payload: Buffer): PortError => {
  const [kind = "", message = "", reason = ""] = readWords(payload)
  const cause = reason === "" ? undefined : { reason }
  return new PortError(kinds.has(kind) ? (kind as PortErrorKind) : "unavailable", message, cause)
}

const quiet = <Value>(settled: PromiseWithResolvers<Value>): PromiseWithResolvers<Value> => {
  // Who never asks for it is not told.
  settled.promise.catch(() => undefined)
  return settled
}

interface Output {
  readonly readable: Readable
  take(bytes: Buffer): void
}

/** Grants the agent room as it is read. What nobody wants any more is dropped, and granted again. */
const createOutput = (stream: number, send: Send, onUnwanted: () => void): Output => {
  let unacknowledgedBytes = 0
  const grant = () => {
    if (unacknowledgedBytes < WINDOW_BYTES / 4) return
    send(frameTypes.credit, Buffer.of(stream), numbers(unacknowledgedBytes))
    unacknowledgedBytes = 0
  }
  const readable = new Readable({
    highWaterMark: CHUNK_BYTES,
    read: grant,
    destroy(error, done) {
      grant()
      if (!readable.readableEnded) onUnwanted()
      done(error)
    },
  })
  // A workload may end under a stream that nobody listens to.
  readable.on("error", () => undefined)
  return {
    readable,
    take(bytes) {
      unacknowledgedBytes += bytes.length
      if (readable.destroyed) grant()
      else readable.push(bytes)
    },
  }
}

const createInput = (send: Send) => {
  let room = WINDOW_BYTES
  let resume: (() => void) | undefined
  const writeFrom = (bytes: Buffer, at: number, done: () => void): void => {
    let next = at
    while (next < bytes.length && room > 0) {
      const part = bytes.subarray(next, next + Math.min(CHUNK_BYTES, room))
      send(frameTypes.data, Buffer.of(0), part)
      room -= part.length
      next += part.length
    }
    if (next === bytes.length) done()
    else resume = () => writeFrom(bytes, next, done)
  }
  const writable = new Writable({
    highWaterMark: CHUNK_BYTES,
    write: (bytes: Buffer, _encoding, done) => writeFrom(bytes, 0, done),
    final(done) {
      send(frameTypes.end, Buffer.of(0))
      done()
    },
  })
  writable.on("error", () => undefined)
  return {
    writable,
    grant(bytes: number) {
      room += bytes
      const waiting = resume
      resume = undefined
      waiting?.()
    },
  }
}

export interface ChannelOptions {
  readonly send: Send
  readonly outputs: readonly (1 | 2)[]
  /** Whether the agent says how it ended. */
  readonly exits: boolean
  /** Whether it is given up when somebody destroys a stream of it. */
  readonly closesWhenUnwanted: boolean
  /** It has no frames any more. */
  readonly onOver: () => void
}

export const createChannel = (options: ChannelOptions): Channel => {
  const { send, onOver } = options
  const opened = quiet(Promise.withResolvers<Buffer>())
  const exited = quiet(Promise.withResolvers<Buffer>())
  const open = new Set<number>(options.outputs)
  let exits = options.exits
  let isOver = false
  const over = () => {
    if (isOver) return
    isOver = true
    onOver()
  }
  const onUnwanted = () => {
    if (!options.closesWhenUnwanted || isOver) return
    send(frameTypes.close)
    fail(new PortError("unavailable", "it was closed"))
  }
  const input = createInput(send)
  const outputs = new Map(
    options.outputs.map(stream => [stream as number, createOutput(stream, send, onUnwanted)]),
  )
  const fail = (error: PortError): void => {
    over()
    opened.reject(error)
    exited.reject(error)
    input.writable.destroy(error)
    for (const { readable } of outputs.values()) readable.destroy(error)
  }
  const end = (stream: number): void => {
    outputs.get(stream)?.readable.push(null)
    open.delete(stream)
    if (open.size === 0 && !exits) over()
  }
  const take = ({ type, payload }: Frame): void => {
    const stream = payload[0] ?? 0
    if (type === frameTypes.opened) opened.resolve(payload)
    else if (type === frameTypes.failed) fail(failureIn(payload))
    else if (type === frameTypes.data) outputs.get(stream)?.take(payload.subarray(1))
    else if (type === frameTypes.end) end(stream)
    else if (type === frameTypes.credit) input.grant(payload.readUInt32BE(1))
    else if (type === frameTypes.exited) {
      exits = false
      exited.resolve(payload)
      if (open.size === 0) over()
    }
  }
  return {
    opened: opened.promise,
    exited: exited.promise,
    input: input.writable,
    output(stream) {
      const output = outputs.get(stream)
      if (!output) throw new RangeError(`there is no stream ${stream}`)
      return output.readable
    },
    send,
    take,
    break: fail,
  }
}
