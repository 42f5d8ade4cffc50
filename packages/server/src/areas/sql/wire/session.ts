/** One client's connection, from its first byte to its last. */
import type { Socket } from "node:net"
import { logInBound } from "./bound-login.ts"
import { SQLSTATE, terminated, WireRefusal, wrongPassword } from "./error-response.ts"
import { type Greeter, type Greeting, greet } from "./greeting.ts"
import type { LiveSession } from "./live-session.ts"
import type { WireCall, WireLimits, WireTarget } from "./messages.ts"
import { mockLogin } from "./mock-login.ts"
import { createObserver, type Observer } from "./observer.ts"
import type { Pooler } from "./pooler/pooler.ts"
import { type ReachHost, reach } from "./reach.ts"
import { farewell, relay } from "./relay.ts"
import { type Route, route } from "./route.ts"
import { encodeStartup } from "./startup-packet.ts"
import { cancelUpstream } from "./upstream.ts"
import type { Verifiers } from "./verifiers.ts"

/** What the sessions of a proxy share. */
export interface SessionHost extends ReachHost {
  readonly greeter: Greeter
  readonly limits: WireLimits
  /** For salts of users who do not exist; does not change. */
  readonly mockSecret: () => Promise<Buffer>
  /** Undefined where passwords cannot be checked here. */
  readonly pooler: Pooler | undefined
  readonly verifiers: Verifiers
  /** Counts the session as one of its branch; throws a `WireRefusal` when that has as many as it may. */
  readonly admit: (session: LiveSession, connectionsMax: number) => void
  readonly leave: (session: LiveSession) => void
  readonly used: (session: LiveSession) => void
  readonly call: (call: WireCall) => void
  /** Makes the session the one that a key cancels. */
  readonly claimKey: (key: string, cancel: () => Promise<void>) => Disposable
  readonly cancel: (key: string) => Promise<void>
  readonly warn: (message: string, reason: unknown) => void
}

interface Client {
  readonly socket: Socket
  readonly connectionId: string
  readonly address: string
  /** Whether its way here is encrypted by somebody else, or need not be. */
  readonly isTunneled: boolean
  /** Called once when the client is logged in or turned away. */
  readonly settled: () => void
}

const notPooled = (): WireRefusal =>
  new WireRefusal({
    sqlstate: SQLSTATE.featureNotSupported,
    message: "this installation's databases have no pooler",
    hint: "Connect without -pooler behind the branch id. SVC_DATABASE_CLUSTER is set: databases run in CloudNativePG, which keeps to itself the superuser that Svc's pooler needs.",
  })

const WAKE_FAILED = "the database cannot be started now"

interface Refused {
  readonly greeting: Greeting
  readonly client: Client
  readonly at: Route
  readonly error: unknown
}

const turnAway = async (host: SessionHost, { greeting, client, at, error }: Refused) => {
  const { stream, binding } = greeting
  if (!(error instanceof WireRefusal)) {
    host.warn("opening a database connection failed", error)
    return farewell(stream, new WireRefusal({ sqlstate: SQLSTATE.cannotConnectNow, message: WAKE_FAILED }))
  }
  if (error.sqlstate !== SQLSTATE.wrongPassword) return farewell(stream, error)
  const late = setTimeout(() => client.socket.destroy(), host.limits.startupTimeoutMs)
  const secret = await host.mockSecret()
  const identity = `${at.branchId}\0${at.user}`
  try {
    const went = await mockLogin(stream, { secret, identity, binding })
    if (went) farewell(stream, wrongPassword(at.user))
    else stream.destroy()
  } catch (cause) {
    if (!(cause instanceof WireRefusal)) throw cause
    farewell(stream, cause)
  } finally {
    clearTimeout(late)
  }
}

const createSession = (branchId: string, connectionId: string) => {
  let observer: Observer | undefined
  let end: ((refusal: WireRefusal) => void) | undefined
  let ended = false
  const session: LiveSession = {
    branchId,
    connectionId,
    get state() {
      return observer?.state ?? "busy"
    },
    end(refusal) {
      ended = true
      end?.(refusal)
    },
  }
  return {
    session,
    start(startedObserver: Observer, startedEnd: (refusal: WireRefusal) => void) {
      observer = startedObserver
      end = startedEnd
      if (ended) startedEnd(terminated())
    },
  }
}

/** False when the client did not get in. */
const logInHere = async (
  host: SessionHost,
  { stream, binding }: Greeting,
  { branchId, user }: Route,
  upstream: Socket,
): Promise<boolean> => {
  // Without a binding to offer, the login is between the client and the server.
  if (!binding) return true
  const verifierOf = (salt: string) => host.verifiers.of({ branchId, user }, salt)
  try {
    if (await logInBound({ client: stream, server: upstream, binding, verifierOf })) return true
    farewell(stream)
  } catch (error) {
    if (!(error instanceof WireRefusal)) throw error
    farewell(stream, error)
  }
  return false
}

const connectThrough = async (client: Client, host: SessionHost, greeting: Greeting) => {
  const { stream, wants, sni } = greeting
  if (wants.kind === "cancel") {
    await host.cancel(wants.key)
    return farewell(stream)
  }
  let at: Route
  try {
    at = route(wants.parameters, sni)
  } catch (error) {
    if (!(error instanceof WireRefusal)) throw error
    return farewell(stream, error)
  }
  const { branchId, user, database, applicationName } = at
  const { connectionId, address: clientAddress } = client
  if (at.isPooled) {
    const { protocol } = wants
    const newcomer = { greeting, at, connectionId, clientAddress, protocol, settled: client.settled }
    return await (host.pooler?.serve(newcomer) ?? farewell(stream, notPooled()))
  }
  const { session, start } = createSession(branchId, connectionId)
  const request = { branchId, user, database, clientAddress, connectionId }
  let reached: { target: WireTarget; upstream: Socket }
  try {
    reached = await reach(host, request, ({ connectionsMax }) => host.admit(session, connectionsMax))
  } catch (error) {
    host.leave(session)
    return await turnAway(host, { greeting, client, at, error })
  }

  const { target, upstream } = reached
  const caller = { branchId, connectionId, user, applicationName, clientAddress }
  let claim: { readonly cancel: () => Promise<void>; readonly claimed: Disposable } | undefined
  const observer = createObserver({
    key(key) {
      const cancel = () => cancelUpstream(target, key)
      claim = { cancel, claimed: host.claimKey(key, cancel) }
    },
    ready: client.settled,
    call: call => host.call({ ...caller, ...call }),
  })
  upstream.on("error", () => undefined)
  upstream.write(encodeStartup(wants.protocol, at.parameters))
  if (!(await logInHere(host, greeting, at, upstream))) {
    upstream.destroy()
    return host.leave(session)
  }
  const { end } = relay({
    client: stream,
    upstream,
    observer,
    used: () => host.used(session),
    abandoned: () => void claim?.cancel(),
    closed() {
      claim?.claimed[Symbol.dispose]()
      host.leave(session)
    },
  })
  start(observer, end)
}

/** Serves one client. Resolves when the bytes flow or the client was turned away; never rejects. */
export const serve = async (client: Client, host: SessionHost): Promise<void> => {
  const { socket } = client
  socket.on("error", () => undefined)
  const late = setTimeout(() => socket.destroy(), host.limits.startupTimeoutMs)
  socket.once("close", () => clearTimeout(late))
  try {
    const greeter = client.isTunneled ? { ...host.greeter, requireTls: "never" as const } : host.greeter
    const greeting = await greet(socket, greeter, farewell)
    clearTimeout(late)
    greeting?.stream.on("error", () => undefined)
    if (greeting) await connectThrough(client, host, greeting)
  } catch (error) {
    host.warn("database connection failed", error)
    socket.destroy()
  }
}
