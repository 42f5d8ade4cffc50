/**
 * All tenant databases behind one TCP port, in PostgreSQL's protocol. This process takes connections and says where
 * branches are; the bytes go through another one, which is there only while there are connections.
 */

import type { Socket } from "node:net"
import { newId } from "../../../kernel/id.ts"
import type { Logger } from "../../../kernel/log.ts"
import type { Certificate } from "../../../services/postgres/certificate.ts"
import type { RequireTls } from "../../../services/postgres/client-port.ts"
import { errorResponse, SQLSTATE, WireRefusal } from "./error-response.ts"
import { type Inside, openInside } from "./inside.ts"
import type { WireActivity, WireCall, WireLimits, WireOpenRequest, WireTarget } from "./messages.ts"
import { type ProxyProcess, startProxy } from "./proxy-process.ts"
import type { VerifierRequest } from "./verifiers.ts"

export interface WireNeeds {
  readonly requireTls: RequireTls
  /** Asked when the first client wants TLS, and again every hour while there are connections. */
  readonly tls: () => Promise<Certificate>
  readonly log: Logger
  /**
   * Wakes a branch and says where it is. Rejects with a `WireRefusal`: 28P01 when there is no such branch (the client
   * then sees a wrong password), 57P03 when it cannot wake now.
   */
  readonly open: (request: WireOpenRequest) => Promise<WireTarget>
  /** What the branch's server keeps of a role's password; undefined where that is not to be read. */
  readonly verifier?: ((request: VerifierRequest) => Promise<string | undefined>) | undefined
  /** Connections that opened, worked or ended; a busy one is told every second. */
  readonly activity: (events: readonly WireActivity[]) => void
  /** Statements that were run, and how many more there were than could be reported. */
  readonly calls: (calls: readonly WireCall[], missed: number) => void
  readonly limits?: Partial<WireLimits>
  /** How long the proxy's process stays without connections. */
  readonly idleTimeoutMs?: number
}

export interface Wire extends AsyncDisposable {
  /** Serves a client; nothing may have been read from the socket. */
  accept(socket: Socket): void
  /** Opens a connection as of a client at that address, who need not encrypt it. */
  tunnel(address: string): Promise<Socket>
  /** Ends all connections of a branch; their clients get 57P01. */
  disconnect(branchId: string): void
  readonly connections: number
  /** The proxy's process; undefined while there is none. */
  readonly pid: number | undefined
}

const DEFAULT_LIMITS: WireLimits = {
  connectionsMax: 10_000,
  startupsPerAddressMax: 256,
  startupTimeoutMs: 15_000,
  openTimeoutMs: 60_000,
  pooledClientsMax: 1_000,
  poolSizeMax: 20,
  pooledServersMax: 40,
  poolWaitTimeoutMs: 30_000,
  poolIdleTimeoutMs: 60_000,
}
const IDLE_TIMEOUT_MS = 600_000

const tooMany = errorResponse(
  new WireRefusal({ sqlstate: SQLSTATE.tooManyConnections, message: "sorry, too many clients already" }),
)

export const createWire = (needs: WireNeeds): Wire => {
  const limits = { ...DEFAULT_LIMITS, ...needs.limits }
  const idleTimeoutMs = needs.idleTimeoutMs ?? IDLE_TIMEOUT_MS
  let proxy: ProxyProcess | undefined
  let idle: NodeJS.Timeout | undefined
  let inside: Promise<Inside> | undefined
  let isClosed = false

  const watchIdle = () => {
    clearTimeout(idle)
    if (!proxy || proxy.connections > 0) return
    idle = setTimeout(() => {
      void proxy?.stop()
      proxy = undefined
    }, idleTimeoutMs)
    idle.unref()
  }

  const ensureProxy = (): ProxyProcess => {
    if (proxy) return proxy
    const { verifier = async () => undefined } = needs
    const settings = { ...needs, limits, verifier, readsVerifiers: needs.verifier !== undefined }
    const started = startProxy(settings, watchIdle, () => {
      if (proxy === started) proxy = undefined
    })
    proxy = started
    return started
  }

  const accept = (socket: Socket, tunneled?: string) => {
    socket.on("error", () => undefined)
    if (isClosed) return void socket.destroy()
    if ((proxy?.connections ?? 0) >= limits.connectionsMax) {
      socket.end(tooMany)
      socket.destroySoon()
      return
    }
    clearTimeout(idle)
    ensureProxy().hand(newId(), socket, tunneled)
  }

  return {
    accept: socket => accept(socket),
    async tunnel(address) {
      inside ??= openInside(accept)
      return (await inside).connect(address)
    },
    disconnect: branchId => proxy?.disconnect(branchId),
    get connections() {
      return proxy?.connections ?? 0
    },
    get pid() {
      return proxy?.pid
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(idle)
      isClosed = true
      ;(await inside)?.[Symbol.dispose]()
      await proxy?.stop()
    },
  }
}
