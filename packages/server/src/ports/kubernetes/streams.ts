/**
 * A program that runs in a container of a Pod, over a WebSocket of the Kubernetes API: each message begins with the number
 * of its stream (subprotocols v4 and v5.channel.k8s.io).
 */
import type { IncomingMessage } from "node:http"
import { Readable, Writable } from "node:stream"
import { text } from "node:stream/consumers"
import WebSocket from "ws"
import { PortError } from "../port-error.ts"

export interface RemoteCommand {
  readonly container: string
  readonly argv: readonly [string, ...string[]]
}

export interface RemoteProcess {
  readonly input: Writable
  readonly output: Readable
  /** Resolves when it has ended or nothing is heard of it any more, with what was said of the reason. */
  readonly ended: Promise<string>
  close(): void
}

export interface RemoteTarget {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly trust: object
}

const [STDIN, STDOUT, STDERR, STATUS] = [0, 1, 2, 3]
const PROTOCOLS = ["v5.channel.k8s.io", "v4.channel.k8s.io"]
const PIECE_BYTES = 32_768
const MESSAGE_BYTES_MAX = 16 * 2 ** 20
const BUFFERED_BYTES = 262_144
const SAID_CHARACTERS_MAX = 500
/** Who is not heard of for two of these is gone: a connection may be lost without a word. */
const PING_MS = 20_000

const refusal = async (answer: IncomingMessage, path: string): Promise<PortError> => {
  const said = (await text(answer).catch(() => "")).slice(0, SAID_CHARACTERS_MAX)
  const kind = answer.statusCode === 404 ? "missing" : "unavailable"
  return new PortError(kind, `Kubernetes answered ${answer.statusCode} to ${path}: ${said}`)
}

const opened = (socket: WebSocket, path: string): Promise<void> =>
  new Promise((resolve, reject) => {
    socket.once("open", resolve)
    socket.once("unexpected-response", (_request, answer) => {
      void refusal(answer, path).then(reject)
    })
    socket.on("error", error =>
      reject(new PortError("unavailable", `Kubernetes did not answer ${path}: ${error.message}`, error)),
    )
  })

const inputOf = (socket: WebSocket): Writable =>
  new Writable({
    highWaterMark: BUFFERED_BYTES,
    // A chunk leaves whole before the next, in as many messages as it takes.
    write(chunk: Buffer, _encoding, done) {
      for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
        const piece = Buffer.concat([Buffer.of(STDIN), chunk.subarray(at, at + PIECE_BYTES)])
        const isLast = at + PIECE_BYTES >= chunk.length
        socket.send(piece, error => {
          if (isLast) done(error)
        })
      }
    },
  }).on("error", () => undefined)

const outputOf = (socket: WebSocket): Readable => {
  const output = new Readable({
    highWaterMark: BUFFERED_BYTES,
    read: () => socket.resume(),
  })
  return output.on("error", () => undefined)
}

/** Ends the socket when the other side has not answered since the last time. */
const watchOver = (socket: WebSocket): NodeJS.Timeout => {
  let isHeard = true
  socket.on("pong", () => {
    isHeard = true
  })
  const look = () => {
    if (!isHeard) return socket.terminate()
    isHeard = false
    socket.ping()
  }
  // Where this process itself was held up, the answer has come and is only not read yet: that comes first.
  return setInterval(() => setImmediate(look), PING_MS)
}

export const openRemoteProcess = async (target: RemoteTarget, timeoutMs: number): Promise<RemoteProcess> => {
  const { url, headers, trust } = target
  const socket = new WebSocket(String(url).replace(/^http/, "ws"), PROTOCOLS, {
    ...{ headers, ...trust, perMessageDeflate: false, followRedirects: false },
    ...{ handshakeTimeout: timeoutMs, maxPayload: MESSAGE_BYTES_MAX },
  })
  let said = ""
  const [input, output] = [inputOf(socket), outputOf(socket)]
  const { promise: ended, resolve } = Promise.withResolvers<string>()
  socket.on("message", (message: Buffer) => {
    const [stream, bytes] = [message[0], message.subarray(1)]
    if (stream === STDOUT && bytes.length > 0 && !output.push(bytes)) socket.pause()
    if (stream === STDERR || stream === STATUS)
      said = `${said}${bytes.toString("utf8")}`.slice(-SAID_CHARACTERS_MAX)
  })
  socket.on("close", () => {
    clearInterval(pings)
    input.destroy()
    if (!output.destroyed) output.push(null)
    resolve(said)
  })
  const pings = watchOver(socket)
  await opened(socket, url.pathname)
  return { input, output, ended, close: () => socket.terminate() }
}
