/** A connection on which a test writes bytes itself: for what no well-behaved client would send. */
import { connect, type Socket } from "node:net"
import type { TestContext } from "node:test"

export interface WireReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Wire {
  readonly socket: Socket
  send(bytes: string | Buffer): void
  /** The next reply. A reply to HEAD has no body, whatever its headers say. Rejects when the connection ends first. */
  reply(method?: string): Promise<WireReply>
  /** Resolves when the server has ended the connection, with the bytes that no reply() took. */
  closed(): Promise<string>
}

const PATIENCE_MS = 60_000

const parseHead = (head: string): Omit<WireReply, "body"> => {
  const [statusLine = "", ...lines] = head.split("\r\n")
  const fields = lines.map(line => [
    line.slice(0, line.indexOf(":")).toLowerCase(),
    line.slice(line.indexOf(":") + 1).trim(),
  ])
  return { status: Number(statusLine.split(" ")[1]), headers: Object.fromEntries(fields) }
}

const bodyLength = ({ status, headers }: Omit<WireReply, "body">, method: string): number =>
  method === "HEAD" || status < 200 || status === 204 || status === 304
    ? 0
    : Number(headers["content-length"] ?? 0)

/** Splits the first whole reply off the bytes, if one is there. */
const take = (received: Buffer, method: string): { reply: WireReply; rest: Buffer } | undefined => {
  const end = received.indexOf("\r\n\r\n")
  if (end < 0) return undefined
  const head = parseHead(received.toString("latin1", 0, end))
  const bodyEnd = end + 4 + bodyLength(head, method)
  if (received.length < bodyEnd) return undefined
  return {
    reply: { ...head, body: received.toString("utf8", end + 4, bodyEnd) },
    rest: received.subarray(bodyEnd),
  }
}

export const openWire = async (t: TestContext, url: string): Promise<Wire> => {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port) })
  t.after(() => socket.destroy())
  let received: Buffer = Buffer.alloc(0)
  let ended = false
  const news = new Set<() => void>()
  const tell = () => {
    for (const listen of news) listen()
  }
  socket.on("data", chunk => {
    received = Buffer.concat([received, chunk])
    tell()
  })
  socket.on("error", () => undefined)
  socket.on("close", () => {
    ended = true
    tell()
  })
  await new Promise(resolve => socket.once("connect", resolve))

  /** What `look` finds, now or once more has arrived. */
  const until = <Found>(look: () => Found | undefined): Promise<Found> =>
    new Promise((resolve, reject) => {
      const settle = (act: () => void) => {
        clearTimeout(patience)
        news.delete(listen)
        act()
      }
      const listen = () => {
        const found = look()
        if (found !== undefined) return settle(() => resolve(found))
        if (ended)
          settle(() => reject(new Error(`the connection ended after: ${received.toString("latin1")}`)))
      }
      const patience = setTimeout(
        () => settle(() => reject(new Error(`nothing came within ${PATIENCE_MS} ms`))),
        PATIENCE_MS,
      )
      news.add(listen)
      listen()
    })

  return {
    socket,
    send: bytes => void socket.write(bytes),
    reply: (method = "GET") =>
      until(() => {
        const taken = take(received, method)
        if (taken) received = taken.rest
        return taken?.reply
      }),
    closed: () => until(() => (ended ? received.toString("latin1") : undefined)),
  }
}

interface WireRequest {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** The bytes of a request, with a Host and, for a body, its length. */
export const requestBytes = ({ method = "GET", path, headers = {}, body }: WireRequest): Buffer => {
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }
  const lines = Object.entries({ host: "svc", ...length, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  return Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`),
    Buffer.from(body ?? ""),
  ])
}

/** One request on a connection of its own. */
export const exchange = async (t: TestContext, url: string, request: WireRequest): Promise<WireReply> => {
  const wire = await openWire(t, url)
  wire.send(requestBytes(request))
  return await wire.reply(request.method)
}
