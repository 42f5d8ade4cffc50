/**
 * PostgreSQL's protocol over a WebSocket, as Neon's serverless driver speaks it: the driver sends its startup packet, the
 * password in clear and its first statement at once, so the password is asked for in clear, and the login that the
 * database wants is done here. Loaded for the first who comes.
 */
import type { Duplex } from "node:stream"
import { pipeline } from "node:stream/promises"
import { createWebSocketStream, type WebSocket } from "ws"
import { errorResponse, WireRefusal } from "./error-response.ts"
import { readBytes } from "./reading.ts"
import {
  AUTHENTICATION_OK,
  authentication,
  authenticationCode,
  keysOfPassword,
  logIn,
  readMessage,
  SASL,
} from "./scram.ts"
import { parseStartup, startupLength } from "./startup-packet.ts"

const CLEARTEXT_PASSWORD = 3
const PASSWORD = 0x70
const NO = Buffer.from("N")
/** For a client to say who it is. */
const LOGIN_TIMEOUT_MS = 15_000

export interface TunnelNeeds {
  /** Opens a connection to the wire. */
  readonly connect: () => Promise<Duplex>
  readonly warn: (reason: unknown) => void
}

/** The packet that says what the client wants; encryption inside of the WebSocket's is declined. */
const readStartup = async (client: Duplex): Promise<{ packet: Buffer; isCancel: boolean } | undefined> => {
  for (;;) {
    const head = await readBytes(client, 4)
    const length = head && startupLength(head)
    if (!head || length === undefined) return undefined
    const rest = await readBytes(client, length - head.length)
    if (!rest) return undefined
    const packet = Buffer.concat([head, rest])
    const { kind } = parseStartup(packet)
    if (kind === "startup" || kind === "cancel") return { packet, isCancel: kind === "cancel" }
    client.write(NO)
  }
}

const readPassword = async (client: Duplex): Promise<string | undefined> => {
  client.write(authentication(CLEARTEXT_PASSWORD))
  const answer = await readMessage(client)
  if (answer?.type !== PASSWORD) return undefined
  return answer.payload.toString("utf8", 0, Math.max(0, answer.payload.length - 1))
}

/** True when the client is in, and the rest is between it and the server. */
const login = async (client: Duplex, server: Duplex): Promise<boolean> => {
  const asked = await readMessage(server)
  if (!asked) return false
  const code = authenticationCode(asked)
  if (code !== SASL) {
    // It lets in without a password, or turns away.
    client.write(asked.whole)
    return code === AUTHENTICATION_OK
  }
  const password = await readPassword(client)
  if (password === undefined) return false
  const refused = await logIn(server, keysOfPassword(password))
  client.write(refused ?? authentication(AUTHENTICATION_OK))
  return refused === undefined
}

const serve = async (client: Duplex, needs: TunnelNeeds, settled: () => void) => {
  const startup = await readStartup(client)
  if (!startup) return client.destroy()
  const server = await needs.connect()
  try {
    server.write(startup.packet)
    const isIn = startup.isCancel || (await login(client, server))
    settled()
    if (isIn) await pipeline(client, server, client)
    else client.end()
  } finally {
    server.destroy()
  }
}

/** Serves one client until it or its server goes away; never rejects. */
export const serveTunnel = async (socket: WebSocket, needs: TunnelNeeds): Promise<void> => {
  const client = createWebSocketStream(socket)
  client.on("error", () => undefined)
  const late = setTimeout(() => socket.terminate(), LOGIN_TIMEOUT_MS)
  try {
    await serve(client, needs, () => clearTimeout(late))
  } catch (error) {
    if (error instanceof WireRefusal) client.end(errorResponse(error))
    else {
      needs.warn(error)
      client.destroy()
    }
  } finally {
    clearTimeout(late)
  }
}
