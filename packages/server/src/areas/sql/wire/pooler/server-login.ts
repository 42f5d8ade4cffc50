/** How a pool logs in at a branch's server. */
import type { Socket } from "node:net"
import { wrongPassword } from "../error-response.ts"
import type { WireTarget } from "../messages.ts"
import { AUTHENTICATION_OK, authenticationCode, logIn, readMessage, SASL, type ScramKeys } from "../scram.ts"
import { encodeStartup, type StartupParameters } from "../startup-packet.ts"
import type { Parameters } from "./parameters.ts"
import { Server } from "./server.ts"
import { readParameter, refusalOf, type ServerSession } from "./server-messages.ts"

const PROTOCOL = 0x0003_0000
const LOGIN_TIMEOUT_MS = 15_000

/** By which a pool logs in: what a client's proof revealed, good for passwords with this salt. */
export interface LoginKeys extends ScramKeys {
  readonly salt: string
}

export interface ServerLogin {
  readonly user: string
  readonly parameters: StartupParameters
  readonly keys: LoginKeys
}

/** Throws a `WireRefusal` with the server's error. */
const readSession = async (socket: Socket): Promise<ServerSession> => {
  const parameters: Parameters = new Map()
  let key = ""
  for (;;) {
    const found = await readMessage(socket)
    if (!found) throw new Error("the server hung up as a session began")
    const { type, payload } = found
    if (type === 0x5a) return { parameters, key }
    if (type === 0x45) throw refusalOf(payload)
    if (type === 0x4b) key = payload.toString("latin1")
    if (type === 0x53) parameters.set(...readParameter(payload))
  }
}

const authenticate = async (socket: Socket, { user, keys }: ServerLogin): Promise<void> => {
  const asked = await readMessage(socket)
  if (!asked) throw new Error("the server hung up before a login")
  if (asked.type === 0x45) throw refusalOf(asked.payload)
  const code = authenticationCode(asked)
  if (code === AUTHENTICATION_OK) return
  if (code !== SASL) throw new Error("the server asks for another kind of login")
  let isStale = false
  const keysFor = async ({ salt }: { readonly salt: string }) => {
    isStale = salt !== keys.salt
    return isStale ? undefined : keys
  }
  const refused = await logIn(socket, keysFor).catch(error => {
    // The password was changed since a client proved that it knows it.
    if (isStale) throw wrongPassword(user)
    throw error
  })
  if (refused) throw refusalOf(refused.subarray(5))
}

/** Logs in on a new, paused connection; throws a `WireRefusal` with what the server has against it. */
export const openServer = async (
  socket: Socket,
  target: WireTarget,
  { login, closed }: { readonly login: ServerLogin; readonly closed: () => void },
): Promise<Server> => {
  socket.on("error", () => undefined)
  const late = setTimeout(() => socket.destroy(), LOGIN_TIMEOUT_MS)
  try {
    socket.write(encodeStartup(PROTOCOL, login.parameters))
    await authenticate(socket, login)
    return new Server(socket, target, { ...(await readSession(socket)), closed })
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    clearTimeout(late)
  }
}
