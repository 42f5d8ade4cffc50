/** A client that sends exactly what a test says. */
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import type { TestContext } from "node:test"
import { atEnd } from "../../../../kernel/db/embedded/testing/directories.ts"
import { keysOfPassword, logIn, readMessage } from "../scram.ts"
import { encodeStartup } from "../startup-packet.ts"
import { GUEST } from "./cluster.ts"

export interface RawMessage {
  readonly type: string
  readonly payload: Buffer
}

export interface RawClient {
  readonly socket: Socket
  /** The next message of the server; undefined when it hung up, cleanly or not. */
  next(): Promise<RawMessage | undefined>
  /** Passes over messages up to the first of a type. */
  until(type: string): Promise<RawMessage>
}

export const PROTOCOL_3_0 = 0x0003_0000
export const PROTOCOL_3_2 = 0x0003_0002

export const message = (type: string, payload: string | Buffer = ""): Buffer => {
  const body = Buffer.from(payload)
  const head = Buffer.alloc(5, type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

export const query = (sql: string): Buffer => message("Q", `${sql}\0`)

/** The fields of an ErrorResponse, by their letters. */
export const fieldsOf = ({ payload }: RawMessage): Record<string, string> =>
  Object.fromEntries(
    payload
      .toString()
      .split("\0")
      .filter(text => text !== "")
      .map(text => [text[0], text.slice(1)]),
  )

/** Reads messages from a stream as they are asked for, so that a test which does not ask lets it fill up. */
export const readMessages = (socket: Socket): RawClient => {
  socket.on("error", () => undefined)
  const chunks = socket.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>
  let held = Buffer.alloc(0)
  const fill = async (bytes: number): Promise<boolean> => {
    while (held.length < bytes) {
      const { value, done } = await chunks.next().catch(() => ({ value: undefined, done: true }))
      if (done || value === undefined) return false
      held = Buffer.concat([held, value])
    }
    return true
  }
  const next = async (): Promise<RawMessage | undefined> => {
    if (!(await fill(5))) return undefined
    const bytes = held.readInt32BE(1) + 1
    if (!(await fill(bytes))) return undefined
    const found = { type: held.toString("latin1", 0, 1), payload: Buffer.from(held.subarray(5, bytes)) }
    held = held.subarray(bytes)
    return found
  }
  return {
    socket,
    next,
    async until(type) {
      for (let found = await next(); found; found = await next()) if (found.type === type) return found
      throw new Error(`the server hung up before it sent ${type}`)
    },
  }
}

/** A connection on which nothing has been sent. */
export const openRaw = async (t: TestContext, port: number): Promise<Socket> => {
  const socket = connect({ host: "127.0.0.1", port })
  socket.on("error", () => undefined)
  atEnd(t, () => socket.destroy())
  await once(socket, "connect")
  return socket
}

/** Logs in with a password, up to the first ReadyForQuery. */
export const loginByPassword = async (
  t: TestContext,
  { port, user, password }: { port: number; user: string; password: string },
): Promise<RawClient> => {
  const socket = await openRaw(t, port)
  socket.write(encodeStartup(PROTOCOL_3_0, new Map([["user", user]])))
  await readMessage(socket)
  const refused = await logIn(socket, keysOfPassword(password))
  if (refused) throw new Error(`refused: ${refused}`)
  const client = readMessages(socket)
  await client.until("Z")
  return client
}

/** Logs in as the guest, up to the first ReadyForQuery; `key` is what cancels the session. */
export const loginRaw = async (
  t: TestContext,
  { port, branchId, protocol = PROTOCOL_3_0 }: { port: number; branchId: string; protocol?: number },
): Promise<RawClient & { readonly key: Buffer }> => {
  const client = readMessages(await openRaw(t, port))
  client.socket.write(encodeStartup(protocol, new Map([["user", `${GUEST}.${branchId}`]])))
  const { payload: key } = await client.until("K")
  await client.until("Z")
  return { ...client, key }
}
