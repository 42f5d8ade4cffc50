/** Ports that load balancers have for themselves: they are opened and closed as the load balancers come and go. */
import type { Socket } from "node:net"
import type { Logger } from "../../kernel/log.ts"
import { errorCode } from "../../kernel/startup-error.ts"
import { responseOn } from "../../services/proxy/forward.ts"
import { openProxyServer, type ProxyServer } from "../../services/proxy/server.ts"
import type { DataPlane } from "./gate.ts"

export interface Ports extends AsyncDisposable {
  /** Opens and closes what differs from these: load balancers by their ports. Calls follow one another. */
  sync(wanted: ReadonlyMap<number, string>): Promise<void>
  /** Why a port is not open; undefined where it is, or nobody asked for it. */
  problem(port: number): string | undefined
}

export const createPorts = (needs: {
  readonly host: string
  readonly plane: DataPlane
  readonly clientAddress: (request: {
    readonly socket: Socket
    readonly headers: NodeJS.Dict<string | string[]>
  }) => string
  readonly log: Logger
}): Ports => {
  const { host, plane, clientAddress, log } = needs
  const open = new Map<number, { readonly id: string; readonly server: ProxyServer }>()
  const problems = new Map<number, string>()
  let turn = Promise.resolve()
  let isClosed = false

  const openOne = async (port: number, id: string) => {
    try {
      const server = await openProxyServer({
        ...{ host, port },
        serve: (request, response) =>
          plane.serve(id, { request, response, address: clientAddress(request), scheme: "http" }),
        upgrade(request, socket, head) {
          socket.on("error", () => undefined)
          const response = responseOn(request, socket as Socket)
          const upgrade = { socket: socket as Socket, head }
          plane.serve(id, { request, response, address: clientAddress(request), scheme: "http", upgrade })
        },
      })
      problems.delete(port)
      open.set(port, { id, server })
    } catch (error) {
      const code = errorCode(error)
      problems.set(
        port,
        code === "EADDRINUSE" ? "another program has this port" : `it cannot be opened: ${code}`,
      )
      log.warn({ err: error, port, load_balancer: id }, "opening the port of a load balancer failed")
    }
  }

  const syncNow = async (wanted: ReadonlyMap<number, string>) => {
    const closing = [...open].filter(([port, { id }]) => wanted.get(port) !== id)
    for (const [port] of closing) open.delete(port)
    for (const port of problems.keys()) if (!wanted.has(port)) problems.delete(port)
    await Promise.all(closing.map(([, { server }]) => server[Symbol.asyncDispose]()))
    if (isClosed) return
    await Promise.all([...wanted].filter(([port]) => !open.has(port)).map(([port, id]) => openOne(port, id)))
  }

  const sync = (wanted: ReadonlyMap<number, string>): Promise<void> => {
    turn = turn.then(() => syncNow(wanted))
    return turn
  }
  return {
    sync,
    problem: port => problems.get(port),
    async [Symbol.asyncDispose]() {
      isClosed = true
      await sync(new Map())
    },
  }
}
