/** One terminal: bytes between a WebSocket and a command, with back-pressure both ways. */
import type { Readable } from "node:stream"
import type { WebSocket } from "../../kernel/call.ts"
import type { GuestProcess } from "../../ports/runtime/port.ts"
import { codeOf } from "./commands.ts"
import { ackMessage, type ClientMessage, exitMessage, readClientMessage } from "./terminal-messages.ts"

export const closeCodes = {
  done: 1000,
  workloadEnded: 1001,
  policy: 1008,
  platformStops: 1012,
} as const

export interface SessionOptions {
  /** False: pipes, whose outputs are told apart by a byte. */
  readonly tty: boolean
  /** What may be on its way, in bytes; undefined: as much as the connection takes. */
  readonly window: number | undefined
  /** Whether the workload ends or has ended. */
  readonly isEnding: () => boolean
}

export interface TerminalSession {
  /** Resolves when nothing is left of it: neither the connection nor the command. */
  readonly over: Promise<void>
  /** Asks whether the client is there; ends it when it did not answer the last time. */
  beat(): void
  end(code: number, reason: string): void
}

/** How long a command that was hung up on has to end by itself. */
const HANG_UP_MS_MAX = 5_000
/** How long a client has to hear why its terminal was ended. */
const FAREWELL_MS = 2_000
/** Acknowledgements are sent in parts of the window, so that the sender never waits for the last one. */
const ACK_PART = 4

/** Sends the outputs, as fast as the client takes them. What is left when it is gone is dropped. */
const createSender = (socket: WebSocket, window = Number.POSITIVE_INFINITY) => {
  let unread = 0
  let waiting: (() => void)[] = []
  const wake = () => {
    const woken = waiting
    waiting = []
    for (const resolve of woken) resolve()
  }
  const isOpen = () => socket.readyState === socket.OPEN
  socket.once("close", wake)

  const send = async (chunk: Buffer, mark: Buffer): Promise<void> => {
    for (let rest = chunk; rest.length > 0 && isOpen(); ) {
      const part = rest.subarray(0, window - unread)
      if (part.length === 0) {
        await new Promise<void>(resolve => waiting.push(resolve))
        continue
      }
      unread += part.length
      rest = rest.subarray(part.length)
      const message = mark.length === 0 ? part : Buffer.concat([mark, part])
      await new Promise<void>(resolve => socket.send(message, { binary: true }, () => resolve()))
    }
  }
  return {
    /** Resolves when the source has ended, however it did. */
    async all(source: Readable, mark: Buffer): Promise<void> {
      try {
        for await (const chunk of source) await send(chunk as Buffer, mark)
      } catch {
        // How it ended is told by the command's exit.
      }
    },
    /** False where that much was never sent. */
    acknowledged(bytes: number): boolean {
      if (window === Number.POSITIVE_INFINITY || bytes > unread) return false
      unread -= bytes
      wake()
      return true
    },
  }
}

/** Hands the client's bytes to the command. What that does not take any more is dropped. */
const createReceiver = (socket: WebSocket, { stdin }: GuestProcess, window: number | undefined) => {
  let unacknowledged = 0
  const resume = () => void (socket.isPaused && socket.resume())
  const taken = (bytes: number) => {
    unacknowledged += bytes
    if (window === undefined || unacknowledged < window / ACK_PART || socket.readyState !== socket.OPEN)
      return
    socket.send(ackMessage(unacknowledged))
    unacknowledged = 0
  }
  // A command need not read what it is sent.
  stdin.on("error", () => undefined)
  stdin.on("drain", resume).once("close", resume)
  return (bytes: Buffer): void => {
    if (stdin.destroyed || stdin.writableEnded) taken(bytes.length)
    else if (!stdin.write(bytes, () => taken(bytes.length))) socket.pause()
  }
}

/** Ends the command of a disconnected client: by SIGHUP, then by SIGKILL. */
const hangUp = (process: GuestProcess): void => {
  process.kill("SIGHUP")
  process.stdin.end()
  const timer = setTimeout(() => process.kill("SIGKILL"), HANG_UP_MS_MAX).unref()
  process.exited.catch(() => undefined).then(() => clearTimeout(timer))
}

const NO_MARK = Buffer.alloc(0)
const STDOUT_MARK = Buffer.of(1)
const STDERR_MARK = Buffer.of(2)

export const serveTerminal = (
  socket: WebSocket,
  process: GuestProcess,
  { tty, window, isEnding }: SessionOptions,
): TerminalSession => {
  const sender = createSender(socket, window)
  const receive = createReceiver(socket, process, window)
  const closed = new Promise<void>(resolve => socket.once("close", () => resolve()))
  let isOver = false
  let hasExited = false
  let isAnswered = true

  const close = (code: number, reason: string) => {
    isOver = true
    socket.close(code, reason)
    // Who is closed is not waited for any more than who closes.
    if (socket.isPaused) socket.resume()
  }
  const end = (code: number, reason: string) => {
    if (isOver) return
    close(code, reason)
    setTimeout(() => socket.terminate(), FAREWELL_MS).unref()
  }

  const obey = (message: ClientMessage | undefined): boolean => {
    if (message?.type === "resize") process.resize(message)
    else if (message?.type === "end") process.stdin.end()
    else return message !== undefined && sender.acknowledged(message.bytes)
    return true
  }
  socket.on("message", (data, isBinary) => {
    isAnswered = true
    if (isOver) return
    const bytes = data as Buffer
    if (isBinary) receive(bytes)
    else if (!obey(readClientMessage(bytes))) end(closeCodes.policy, "no message that a terminal knows")
  })
  socket.on("pong", () => {
    isAnswered = true
  })
  // What broke the protocol is told to the client by its close code.
  socket.on("error", () => undefined)
  socket.once("close", () => hasExited || hangUp(process))

  const follow = async (): Promise<void> => {
    const sent = Promise.all([
      sender.all(process.stdout, tty ? NO_MARK : STDOUT_MARK),
      sender.all(process.stderr, STDERR_MARK),
    ])
    try {
      const exit = await process.exited
      hasExited = true
      await sent
      if (isOver) return
      socket.send(exitMessage(codeOf(exit), exit.signal))
      if (isEnding()) close(closeCodes.workloadEnded, "the machine has ended")
      else close(closeCodes.done, "")
    } catch {
      if (!isOver) close(closeCodes.workloadEnded, "the machine has ended")
    }
  }

  return {
    over: Promise.all([follow(), closed]).then(() => undefined),
    beat() {
      // Who has much to read answers late, and who is kept from sending cannot.
      if (socket.isPaused || socket.bufferedAmount > 0) isAnswered = true
      if (!isAnswered) return socket.terminate()
      isAnswered = false
      socket.ping(() => undefined)
    },
    end,
  }
}
