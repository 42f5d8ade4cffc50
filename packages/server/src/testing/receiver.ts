/** A real HTTP server on this machine that records what it is sent and answers as a test says. */
import { once } from "node:events"
import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from "node:http"
import { createServer as createTlsServer } from "node:https"
import type { AddressInfo, Socket } from "node:net"
import type { TestContext } from "node:test"

export interface Received {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** Which connection it came on, counted from 1. */
  readonly connection: number
}

/** How one request is answered, once it has been received whole. */
export type Script = (reply: ServerResponse, request: Received) => void

export interface ReceiverOptions {
  /** Default: 127.0.0.1. */
  readonly host?: string
  /** Default: any that is free. */
  readonly port?: number
  /** PEM; makes it a server of https. */
  readonly tls?: { readonly key: string; readonly cert: string }
}

export interface Receiver {
  /** Without a slash at the end. */
  readonly url: string
  readonly port: number
  readonly requests: readonly Received[]
  /** How many connections were made, requests on them or not. */
  readonly connections: number
  /** Bytes that left, those that wait in the system's buffers included. */
  readonly bytesSent: number
  /** The answers to the next requests, in order; the last one stays. Default: 200 with an empty body. */
  script(...scripts: readonly Script[]): void
  /** Resolves once that many requests have come, those of before included. */
  received(count: number): Promise<readonly Received[]>
  /** Resolves once no connection is open. */
  abandoned(): Promise<void>
}

/** Answers with that status, these headers and this body. */
export const answer =
  (status: number, headers: Readonly<Record<string, string>> = {}, body: string | Buffer = ""): Script =>
  reply =>
    void reply.writeHead(status, headers).end(body)

/** Never answers. */
export const hang: Script = () => undefined

/** Ends the connection without an answer. */
export const closeAtOnce: Script = reply => void reply.socket?.destroy()

/** Promises more than it sends, then ends the connection. */
export const closeEarly: Script = reply => {
  reply.writeHead(200, { "content-length": "1000" })
  reply.write("the first part", () => reply.socket?.destroy())
}

/** Sends a byte now and then, for ever. */
export const drip: Script = reply => {
  reply.writeHead(200).flushHeaders()
  const timer = setInterval(() => reply.write("."), 20)
  reply.once("close", () => clearInterval(timer))
}

/** Sends that many bytes, as fast as they are read. */
export const flood =
  (bytes: number): Script =>
  reply => {
    const chunk = Buffer.alloc(65_536, "x")
    let left = bytes
    const write = () => {
      while (left > 0 && !reply.destroyed) {
        left -= chunk.length
        if (!reply.write(chunk)) return void reply.once("drain", write)
      }
      reply.end()
    }
    write()
  }

/** Sends header after header, as fast as they are read. */
export const endlessHeaders: Script = reply => {
  const socket = reply.socket as Socket
  const line = `x-more: ${"x".repeat(1_000)}\r\n`
  const write = () => {
    while (!socket.destroyed) if (!socket.write(line)) return void socket.once("drain", write)
  }
  socket.write("HTTP/1.1 200 OK\r\n")
  write()
}

/** Writes these bytes in the place of an answer, and ends the connection. */
export const raw =
  (text: string): Script =>
  reply =>
    void reply.socket?.end(text)

const WAIT_MS_MAX = 60_000

export const startReceiver = async (t: TestContext, options: ReceiverOptions = {}): Promise<Receiver> => {
  const { host = "127.0.0.1", tls } = options
  const requests: Received[] = []
  const sockets = new Map<Socket, number>()
  const watchers = new Set<() => void>()
  let scripts: readonly Script[] = [answer(200)]
  let connections = 0
  let bytesOfClosed = 0
  const changed = () => {
    for (const watcher of watchers) watcher()
  }

  const listener: RequestListener = async (request, reply) => {
    const chunks: Buffer[] = []
    reply.on("error", () => undefined)
    try {
      for await (const chunk of request) chunks.push(chunk)
    } catch {
      return
    }
    const { method = "", url: path = "", headers } = request
    const connection = sockets.get(request.socket) ?? 0
    const received = { method, path, headers, body: Buffer.concat(chunks), connection }
    requests.push(received)
    const [script = answer(200), ...rest] = scripts
    if (rest.length > 0) scripts = rest
    script(reply, received)
    changed()
  }

  const server = tls ? createTlsServer(tls, listener) : createServer(listener)
  server.on(tls ? "secureConnection" : "connection", (socket: Socket) => {
    connections++
    sockets.set(socket, connections)
    socket.on("error", () => undefined)
    socket.once("close", () => {
      sockets.delete(socket)
      bytesOfClosed += socket.bytesWritten
      changed()
    })
  })
  // Longer than any client keeps a connection: none is closed while a request goes out on it.
  server.keepAliveTimeout = 60_000
  server.listen(options.port ?? 0, host)
  await once(server, "listening")
  t.after(async () => {
    server.close()
    for (const socket of sockets.keys()) socket.destroy()
    await once(server, "close")
  })

  const until = (isSo: () => boolean) =>
    new Promise<void>((resolve, reject) => {
      const timer = setTimeout(reject, WAIT_MS_MAX, new Error("the receiver waited in vain"))
      const watcher = () => {
        if (!isSo()) return
        clearTimeout(timer)
        watchers.delete(watcher)
        resolve()
      }
      watchers.add(watcher)
      watcher()
    })

  const { port } = server.address() as AddressInfo
  return {
    url: `${tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`,
    port,
    requests,
    get connections() {
      return connections
    },
    get bytesSent() {
      return [...sockets.keys()].reduce((sum, { bytesWritten }) => sum + bytesWritten, bytesOfClosed)
    },
    script: (...given) => {
      scripts = given
    },
    async received(count) {
      await until(() => requests.length >= count)
      return requests
    },
    abandoned: () => until(() => sockets.size === 0),
  }
}
