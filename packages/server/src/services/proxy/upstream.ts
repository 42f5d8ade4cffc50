/** One server that requests are passed on to: its connections, and what becomes of requests to it. */
import {
  Agent,
  type AgentOptions,
  type ClientRequest,
  type ClientRequestArgs,
  request as httpRequest,
  type RequestOptions,
} from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { connect as connectTls } from "node:tls"
import { type Circuit, createCircuit } from "./circuit.ts"

export interface UpstreamAddress {
  /** A name or an address. */
  readonly host: string
  readonly port: number
  readonly protocol: "http" | "https"
}

/** Opens plain TCP, to admitted addresses alone. */
export type Connect = (host: string, port: number) => Promise<Socket>

export interface Upstream {
  readonly circuit: Circuit
  /** Requests under way, and connections that went on as WebSockets. */
  readonly active: number
  readonly requests: number
  readonly failures: number
  /** A use counts as active until it is disposed of. */
  use(): Disposable
  countFailure(): void
  request(options: RequestOptions): ClientRequest
  /** Ends all its connections. */
  close(): void
}

const CONNECT_MS_MAX = 3_000
const FREE_CONNECTIONS_MAX = 64
/** Less than most servers wait for a next request, or one could be sent to a connection that just ends. */
const KEPT_MS = 4_000
const HEADERS_BYTES_MAX = 32_768

export class ConnectError extends Error {
  override readonly name = "ConnectError"
}

const withTls = (socket: Socket, host: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const secure = connectTls({
      socket,
      // The name is checked against the certificate; an address has none to send.
      ...(/^[\d.]+$|:/.test(host) ? { host } : { servername: host, host }),
      ALPNProtocols: ["http/1.1"],
      rejectUnauthorized: true,
    })
    secure.once("secureConnect", () => resolve(secure))
    secure.once("error", reject)
  })

/** A connection on which a request can be sent; rejects with a ConnectError. */
export const openConnection = async (
  { host, port, protocol }: UpstreamAddress,
  connect: Connect,
  timeoutMs = CONNECT_MS_MAX,
): Promise<Socket> => {
  const opening = connect(host, port).then(socket => {
    socket.setNoDelay(true)
    return protocol === "https" ? withTls(socket, host) : socket
  })
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new ConnectError("it does not answer in time")), timeoutMs)
  try {
    return await Promise.race([opening, late.promise])
  } catch (error) {
    opening.then(
      socket => socket.destroy(),
      () => undefined,
    )
    if (error instanceof ConnectError) throw error
    throw new ConnectError(error instanceof Error ? error.message : String(error), { cause: error })
  } finally {
    clearTimeout(timer)
  }
}

class GuardedAgent extends Agent {
  readonly #open: () => Promise<Socket>

  constructor(options: AgentOptions, open: () => Promise<Socket>) {
    super(options)
    this.#open = open
  }

  override createConnection(
    _options: ClientRequestArgs,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    this.#open().then(
      socket => callback?.(null, socket),
      // Node takes an error alone, which its types do not say.
      error => (callback as ((error: Error) => void) | undefined)?.(error),
    )
    return undefined
  }
}

export const createUpstream = (address: UpstreamAddress, connect: Connect): Upstream => {
  let agent: Agent | undefined
  let active = 0
  let requests = 0
  let failures = 0
  const agentOf = () => {
    agent ??= new GuardedAgent(
      {
        keepAlive: true,
        timeout: KEPT_MS,
        maxFreeSockets: FREE_CONNECTIONS_MAX,
        scheduling: "lifo",
      },
      () => openConnection(address, connect),
    )
    return agent
  }
  return {
    circuit: createCircuit(),
    get active() {
      return active
    },
    get requests() {
      return requests
    },
    get failures() {
      return failures
    },
    use() {
      active++
      requests++
      let isOver = false
      return {
        [Symbol.dispose]() {
          if (isOver) return
          isOver = true
          active--
        },
      }
    },
    countFailure() {
      failures++
    },
    request: options =>
      httpRequest({
        ...options,
        host: address.host,
        port: address.port,
        setHost: false,
        agent: agentOf(),
        maxHeaderSize: HEADERS_BYTES_MAX,
      }),
    close: () => agent?.destroy(),
  }
}
