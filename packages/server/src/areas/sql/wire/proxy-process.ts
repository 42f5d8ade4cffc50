/** The proxy's process as the platform's sees it. */

import { type ChildProcess, fork } from "node:child_process"
import type { Socket } from "node:net"
import { fileURLToPath } from "node:url"
import type { Logger } from "../../../kernel/log.ts"
import type { Certificate } from "../../../services/postgres/certificate.ts"
import { SQLSTATE, WireRefusal } from "./error-response.ts"
import type {
  FromProxy,
  ProxySettings,
  ToProxy,
  WireActivity,
  WireCall,
  WireOpenRequest,
  WireTarget,
} from "./messages.ts"
import type { VerifierRequest } from "./verifiers.ts"

export interface ProxyNeeds extends ProxySettings {
  readonly tls: () => Promise<Certificate>
  readonly log: Logger
  readonly open: (request: WireOpenRequest) => Promise<WireTarget>
  readonly verifier: (request: VerifierRequest) => Promise<string | undefined>
  readonly activity: (events: readonly WireActivity[]) => void
  readonly calls: (calls: readonly WireCall[], missed: number) => void
}

export interface ProxyProcess {
  readonly pid: number | undefined
  readonly connections: number
  /** Gives a connection away; it is not this process's any more. */
  hand(connectionId: string, socket: Socket, tunneled?: string): void
  disconnect(branchId: string): void
  /** Tells all clients, and ends. */
  stop(): Promise<void>
}

const PROGRAM = fileURLToPath(import.meta.resolve("./proxy.ts"))
const KILL_AFTER_MS = 5_000

const startupTimeout = (): WireRefusal =>
  new WireRefusal({ sqlstate: SQLSTATE.cannotConnectNow, message: "the database did not start in time" })

/** The promise's outcome, or a refusal when it takes longer. */
const inTime = async <Value>(promise: Promise<Value>, timeoutMs: number): Promise<Value> => {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(startupTimeout()), timeoutMs)
  try {
    return await Promise.race([promise, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

const createAnswers = (needs: ProxyNeeds, send: (message: ToProxy) => void) => {
  const answer = async (id: number, ask: () => Promise<unknown>) => {
    try {
      send({ kind: "answer", id, value: await ask() })
    } catch (error) {
      if (!(error instanceof WireRefusal))
        needs.log.error({ err: error }, "opening a database connection failed")
      const { sqlstate, message, hint } =
        error instanceof WireRefusal
          ? error
          : new WireRefusal({
              sqlstate: SQLSTATE.cannotConnectNow,
              message: "the database cannot be reached now",
            })
      send({ kind: "refusal", id, sqlstate, message, hint })
    }
  }
  return {
    open: (id: number, request: WireOpenRequest) =>
      answer(id, () => inTime(needs.open(request), needs.limits.openTimeoutMs)),
    certificate: (id: number) => answer(id, needs.tls),
    verifier: (id: number, request: VerifierRequest) =>
      answer(id, () => inTime(needs.verifier(request), needs.limits.openTimeoutMs)),
  }
}

/** Connections that the proxy said are open, so that they end for everybody when it dies. */
const createTold = () => {
  const open = new Map<string, string>()
  return {
    note(events: readonly WireActivity[]) {
      for (const { kind, connectionId, branchId } of events) {
        if (kind === "opened") open.set(connectionId, branchId)
        else if (kind === "closed") open.delete(connectionId)
      }
    },
    takeAll(): WireActivity[] {
      const events = [...open].map(([connectionId, branchId]) => ({
        branchId,
        connectionId,
        kind: "closed" as const,
      }))
      open.clear()
      return events
    },
  }
}

const forkProxy = ({ requireTls, readsVerifiers, limits }: ProxySettings): ChildProcess =>
  fork(PROGRAM, [JSON.stringify({ requireTls, readsVerifiers, limits } satisfies ProxySettings)], {
    // Our own environment and options hold the platform's secrets, and are of no use there.
    env: {},
    execArgv: [],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  })

/** `changed` is called when a connection ended, `ended` when the process did. */
export const startProxy = (needs: ProxyNeeds, changed: () => void, ended: () => void): ProxyProcess => {
  const child = forkProxy(needs)
  const connections = new Set<string>()
  /** Sockets that the child has not said it has, by connection; until then they are open here too. */
  const underWay = new Map<string, Socket>()
  const release = (connectionId: string) => {
    underWay.get(connectionId)?.destroy()
    underWay.delete(connectionId)
  }
  const told = createTold()
  const gone = Promise.withResolvers<void>()
  let stopping = false

  const send = (message: ToProxy) => {
    if (child.connected) child.send(message, () => undefined)
  }
  const answers = createAnswers(needs, send)

  child.on("message", (message: FromProxy) => {
    switch (message.kind) {
      case "open":
        return void answers.open(message.id, message.request)
      case "certificate":
        return void answers.certificate(message.id)
      case "verifier":
        return void answers.verifier(message.id, message.request)
      case "activity":
        told.note(message.events)
        return needs.activity(message.events)
      case "calls":
        return needs.calls(message.calls, message.missed)
      case "taken":
        return release(message.connectionId)
      case "closed":
        release(message.connectionId)
        connections.delete(message.connectionId)
        return changed()
      default:
        return needs.log.warn({ reason: message.reason }, message.message)
    }
  })

  const finish = (reason: unknown) => {
    if (!stopping) needs.log.warn({ reason }, "PostgreSQL proxy process exited unexpectedly")
    for (const connectionId of [...underWay.keys()]) release(connectionId)
    connections.clear()
    const left = told.takeAll()
    if (left.length > 0) needs.activity(left)
    ended()
    gone.resolve()
  }
  child.once("exit", (code, signal) => finish(signal ?? code))
  child.once("error", finish)

  return {
    pid: child.pid,
    get connections() {
      return connections.size
    },
    hand(connectionId, socket, tunneled) {
      connections.add(connectionId)
      underWay.set(connectionId, socket)
      const message: ToProxy = { kind: "connection", connectionId, tunneled }
      // Node leaves a socket open and in nobody's hands when it cannot be sent to a process that has just died.
      child.send(message, socket, { keepOpen: true }, error => {
        if (!error) return
        release(connectionId)
        connections.delete(connectionId)
        changed()
      })
    },
    disconnect: branchId => send({ kind: "disconnect", branchId }),
    async stop() {
      stopping = true
      send({ kind: "stop" })
      const kill = setTimeout(() => child.kill("SIGKILL"), KILL_AFTER_MS)
      await gone.promise
      clearTimeout(kill)
    },
  }
}
