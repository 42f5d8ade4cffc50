/** Connections from the proxy to the servers of branches. */
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import type { WireTarget } from "./messages.ts"
import { readBytes } from "./reading.ts"
import { encodeCancel, encodeTlsRequest } from "./startup-packet.ts"

const CONNECT_TIMEOUT_MS = 10_000
const CANCEL_TIMEOUT_MS = 5_000
const YES = 0x53

const encrypt = async (
  socket: Socket,
  tls: { readonly ca: string; readonly servername: string },
  signal: AbortSignal,
): Promise<Socket> => {
  socket.write(encodeTlsRequest())
  const answer = await readBytes(socket, 1)
  if (answer?.[0] !== YES || socket.readableLength > 0) throw new Error("the server does not offer TLS")
  const secured = connectTls({ socket, ca: tls.ca, servername: tls.servername, minVersion: "TLSv1.2" })
  try {
    await once(secured, "secureConnect", { signal })
    return secured
  } catch (error) {
    secured.destroy()
    throw error
  }
}

/** Opens a connection, paused; throws when none comes about in time. */
export const connectUpstream = async (target: WireTarget): Promise<Socket> => {
  const socket = connect(
    "socketPath" in target
      ? { path: target.socketPath }
      : { host: target.host, port: target.port, noDelay: true, keepAlive: true },
  )
  const signal = AbortSignal.timeout(CONNECT_TIMEOUT_MS)
  try {
    await once(socket, "connect", { signal })
    if (!("host" in target && target.tls)) return socket
    // `signal` does not reach a read; the socket's own clock does.
    socket.setTimeout(CONNECT_TIMEOUT_MS, () => socket.destroy())
    const secured = await encrypt(socket, target.tls, signal)
    socket.setTimeout(0)
    return secured
  } catch (error) {
    socket.on("error", () => undefined)
    socket.destroy()
    throw error
  }
}

/** Asks a server to cancel what the session with that key runs; resolves once it has taken notice, and never fails. */
export const cancelUpstream = async (target: WireTarget, key: string): Promise<void> => {
  try {
    const socket = await connectUpstream(target)
    socket.on("error", () => undefined)
    socket.setTimeout(CANCEL_TIMEOUT_MS, () => socket.destroy())
    socket.resume()
    socket.write(encodeCancel(key))
    await new Promise<void>(resolve => {
      socket.once("close", () => resolve())
    })
  } catch {
    // A server that cannot be reached runs nothing that could be cancelled.
  }
}
