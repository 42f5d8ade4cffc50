import { SvcError } from "./errors.ts"

export interface TerminalExit {
  /** 128 and the signal's number when a signal ended it. */
  readonly exit_code: number
  readonly signal: string | null
}

/** A command that runs somewhere else, with its terminal here. Leaving it (`close`) ends the command. */
export interface Terminal {
  /** Output of the command, in a terminal both streams. Without a reader the command is paused. */
  readonly output: ReadableStream<Uint8Array>
  /** What it says on stderr, with `tty: false` only; then both are to be read, or this one cancelled. */
  readonly errors: ReadableStream<Uint8Array>
  /** What is typed. It takes more when the command does; its end is Ctrl-D. */
  readonly input: WritableStream<Uint8Array>
  /** Rejects with an `SvcError` when the connection ended before the command did. */
  readonly exited: Promise<TerminalExit>
  resize(size: { readonly columns: number; readonly rows: number }): void
  close(): void
}

/** So much is on its way at most, in either direction. */
export const WINDOW_BYTES = 256 * 1024
const MESSAGE_BYTES_MAX = 64 * 1024
/** What was taken is told in parts of the window, so that the other side never waits for the last. */
const ACK_PART = 4

/** Largest number of buffered bytes that are not read yet. */
const createOutput = (onTaken: (bytes: number) => void) => {
  const waiting: Uint8Array[] = []
  let wake = () => {}
  let isOver = false
  let isUnwanted = false
  const readable = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        while (waiting.length === 0 && !isOver) {
          await new Promise<void>(resolve => {
            wake = resolve
          })
        }
        if (isUnwanted) return
        const chunk = waiting.shift()
        if (!chunk) return controller.close()
        onTaken(chunk.byteLength)
        controller.enqueue(chunk)
      },
      cancel() {
        isUnwanted = true
        isOver = true
        for (const { byteLength } of waiting.splice(0)) onTaken(byteLength)
        wake()
      },
    },
    { highWaterMark: 0 },
  )
  return {
    readable,
    push(chunk: Uint8Array) {
      if (isUnwanted) return onTaken(chunk.byteLength)
      waiting.push(chunk)
      wake()
    },
    end() {
      isOver = true
      wake()
    },
  }
}

/** Sends what is typed, so far ahead of the command as the window allows. */
const createInput = (send: (message: Uint8Array<ArrayBuffer> | string) => boolean, window: number) => {
  let untaken = 0
  let isOver = false
  let wake = () => {}
  const room = async () => {
    while (untaken >= window && !isOver) {
      await new Promise<void>(resolve => {
        wake = resolve
      })
    }
  }
  const writable = new WritableStream<Uint8Array>({
    async write(chunk) {
      for (let at = 0; at < chunk.byteLength; at += MESSAGE_BYTES_MAX) {
        await room()
        // A copy: who wrote it may use its bytes again.
        const part = chunk.slice(at, at + MESSAGE_BYTES_MAX)
        untaken += part.byteLength
        if (!send(part)) throw new TypeError("the terminal has ended")
      }
    },
    close: () => void send(JSON.stringify({ type: "end" })),
  })
  return {
    writable,
    taken(bytes: number) {
      untaken -= bytes
      wake()
    },
    end() {
      isOver = true
      wake()
    },
  }
}

export interface TerminalOptions {
  readonly tty: boolean
  readonly window: number
}

const closedError = ({ code, reason }: { readonly code: number; readonly reason: string }): SvcError =>
  new SvcError({
    status: 0,
    code: "connection_closed",
    message: `the terminal's connection has ended: ${reason || `code ${code}`}`,
  })

/** The client's side of `svc.terminal.v1`, on a socket that opens. */
export const createTerminal = (socket: WebSocket, { tty, window }: TerminalOptions): Terminal => {
  const exited = Promise.withResolvers<TerminalExit>()
  // Who never asks for it is not told.
  exited.promise.catch(() => undefined)
  const send = (message: Uint8Array<ArrayBuffer> | string): boolean => {
    const isOpen = socket.readyState === socket.OPEN
    if (isOpen) socket.send(message)
    return isOpen
  }
  let owed = 0
  const onTaken = (bytes: number) => {
    owed += bytes
    if (owed < window / ACK_PART) return
    send(JSON.stringify({ type: "ack", bytes: owed }))
    owed = 0
  }
  const output = createOutput(onTaken)
  const errors = createOutput(onTaken)
  const input = createInput(send, window)

  const hear = (message: { readonly type: string; readonly bytes: number } & TerminalExit) => {
    if (message.type === "ack") input.taken(message.bytes)
    else if (message.type === "exit") exited.resolve({ exit_code: message.exit_code, signal: message.signal })
  }
  socket.binaryType = "arraybuffer"
  socket.addEventListener("message", ({ data }: { readonly data: unknown }) => {
    if (!(data instanceof ArrayBuffer)) return hear(JSON.parse(String(data)))
    const bytes = new Uint8Array(data)
    if (tty) output.push(bytes)
    else (bytes[0] === 2 ? errors : output).push(bytes.subarray(1))
  })
  socket.addEventListener("close", event => {
    for (const stream of [output, errors, input]) stream.end()
    exited.reject(closedError(event))
  })
  return {
    output: output.readable,
    errors: errors.readable,
    input: input.writable,
    exited: exited.promise,
    resize: ({ columns, rows }) => void send(JSON.stringify({ type: "resize", columns, rows })),
    close: () => socket.close(1000),
  }
}
