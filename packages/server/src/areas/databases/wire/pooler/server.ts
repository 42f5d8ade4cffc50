/** One connection of a pool to a branch's server, logged in as the tenant's role. */
import type { Socket } from "node:net"
import { errorFields, SQLSTATE, WireRefusal, wrongPassword } from "../error-response.ts"
import type { WireTarget } from "../messages.ts"
import {
  AUTHENTICATION_OK,
  authenticationCode,
  logIn,
  message,
  readMessage,
  SASL,
  type ScramKeys,
} from "../scram.ts"
import { encodeStartup, type StartupParameters } from "../startup-packet.ts"
import { cancelUpstream } from "../upstream.ts"
import { createExpectations, type Expectations } from "./expectations.ts"
import type { Parameters } from "./parameters.ts"
import { createServerFrames } from "./server-frames.ts"
import { createServerStatements, type ServerStatements } from "./statements.ts"

const PROTOCOL = 0x0003_0000
const LOGIN_TIMEOUT_MS = 15_000
const TERMINATE = message("X", "")

/** By which a pool logs in: what a client's proof revealed, good for passwords with this salt. */
export interface LoginKeys extends ScramKeys {
  readonly salt: string
}

/** Who has the connection. */
export interface Borrower {
  /** Bytes of whole messages or parts of them; false asks to wait until `resume` is called. */
  receive(bytes: Buffer): boolean
  parameter(name: string, value: string): void
  /** All prepared statements are gone. */
  deallocated(): void
  /** A ReadyForQuery has been passed on. */
  ready(): void
  drain(): void
  /** The connection is gone. */
  lost(): void
}

export interface Server {
  readonly target: WireTarget
  readonly openedAtMs: number
  /** What the server said of the session's parameters. */
  readonly parameters: ReadonlyMap<string, string>
  readonly statements: ServerStatements
  readonly expected: Expectations
  /** False when more should wait for `Borrower.drain`. */
  send(bytes: Buffer): boolean
  /** Runs a statement of the pool's own; resolves with what the server has against it. */
  run(sql: string): Promise<WireRefusal | undefined>
  lend(borrower: Borrower): void
  /** It is nobody's from now on. */
  takeBack(): void
  resume(): void
  /** A COPY to the server was announced to be over. */
  copyEnded: boolean
  /** Messages of the extended protocol that no Sync has followed. */
  isUnsynced: boolean
  /** Between transactions, with nothing asked. */
  readonly isSettled: boolean
  /** Whether a ReadyForQuery will come by itself. */
  readonly willSettle: boolean
  /** In a transaction that takes nothing but its end. */
  readonly isFailed: boolean
  readonly isClosed: boolean
  readonly isLent: boolean
  /** Cancels what runs; resolves once the server has taken notice. */
  cancel(): Promise<void>
  /** Resolves when no cancellation is on its way, which could hit the next borrower. */
  uncancelled(): Promise<void>
  /** Lets the server go. */
  close(): void
  /** Cuts the connection, and tells who has it. */
  cut(): void
}

const refusalOf = (payload: Buffer): WireRefusal => {
  const { sqlstate, message: text } = errorFields(payload, 0, payload.length)
  return new WireRefusal({ sqlstate, message: text })
}

const readParameter = (payload: Buffer): readonly [string, string] => {
  const [name = "", value = ""] = payload.toString("latin1").split("\0")
  return [name, value]
}

interface Session {
  readonly parameters: Parameters
  readonly key: string
}

/** Reads what a server tells of a session that begins; throws a `WireRefusal` with its error. */
const readSession = async (socket: Socket): Promise<Session> => {
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

export interface ServerLogin {
  readonly user: string
  readonly parameters: StartupParameters
  readonly keys: LoginKeys
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
    return createServer(socket, target, { ...(await readSession(socket)), closed })
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    clearTimeout(late)
  }
}

interface OwnStatement {
  refusal: WireRefusal | undefined
  readonly done: (refusal: WireRefusal | undefined) => void
}

const createServer = (
  socket: Socket,
  target: WireTarget,
  { parameters, key, closed }: Session & { readonly closed: () => void },
): Server => {
  const statements = createServerStatements()
  const expected = createExpectations()
  const cancelling = new Set<Promise<void>>()
  let borrower: Borrower | undefined
  let own: OwnStatement | undefined
  let inTransaction = false
  let isFailed = false
  let inCopy = false
  let isClosed = false

  const fail = () => {
    if (isClosed) return
    isClosed = true
    socket.destroy()
    own?.done(new WireRefusal({ sqlstate: SQLSTATE.adminShutdown, message: "the server ended the session" }))
    borrower?.lost()
    borrower = undefined
    closed()
  }

  const ready = (status: number) => {
    inTransaction = status !== 0x49
    isFailed = status === 0x45
    inCopy = false
    if (own) {
      const { done, refusal } = own
      own = undefined
      return done(refusal)
    }
    if (!expected.ready()) return fail()
    borrower?.ready()
  }

  const frames = createServerFrames({
    forward(bytes) {
      if (own || !borrower) return
      if (!borrower.receive(bytes)) socket.pause()
    },
    parameter(payload) {
      const [name, value] = readParameter(payload)
      parameters.set(name, value)
      if (!own) borrower?.parameter(name, value)
    },
    parsed: () => expected.answered("parse") ?? "lost",
    closed: () => expected.answered("close") ?? "lost",
    error(payload) {
      if (own) own.refusal = refusalOf(payload)
    },
    deallocated() {
      statements.clear()
      borrower?.deallocated()
    },
    copyIn() {
      inCopy = true
      expected.copyIn(server.copyEnded)
    },
    ready,
    lost: fail,
  })

  const server: Server = {
    target,
    openedAtMs: performance.now(),
    parameters,
    statements,
    expected,
    copyEnded: false,
    isUnsynced: false,
    send: bytes => socket.write(bytes),
    run: sql =>
      new Promise(done => {
        own = { done, refusal: undefined }
        if (isClosed) return fail()
        socket.write(message("Q", Buffer.from(`${sql}\0`, "latin1")))
      }),
    lend(next) {
      borrower = next
    },
    takeBack() {
      borrower = undefined
      socket.resume()
    },
    resume: () => void socket.resume(),
    get isSettled() {
      return !inTransaction && expected.isEmpty && !server.isUnsynced
    },
    get willSettle() {
      return !expected.isEmpty && !server.isUnsynced && !(inCopy && !server.copyEnded)
    },
    get isFailed() {
      return isFailed
    },
    get isClosed() {
      return isClosed
    },
    get isLent() {
      return borrower !== undefined
    },
    cancel() {
      const under = cancelUpstream(target, key)
      cancelling.add(under)
      return under.finally(() => cancelling.delete(under))
    },
    async uncancelled() {
      await Promise.all(cancelling)
    },
    close() {
      if (isClosed) return
      isClosed = true
      borrower = undefined
      socket.end(TERMINATE)
      socket.destroySoon()
      closed()
    },
    cut: fail,
  }
  socket.on("data", (chunk: Buffer) => {
    if (!isClosed) frames.push(chunk)
  })
  socket.on("drain", () => borrower?.drain())
  socket.on("end", fail).on("close", fail)
  socket.resume()
  return server
}
