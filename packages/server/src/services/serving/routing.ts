/** Requests for the host names of programs, each to an instance of the version that is to answer it. */
import type { IncomingMessage } from "node:http"
import { setTimeout as delay } from "node:timers/promises"
import type { Refusal, Route } from "../../kernel/edges/forwarding.ts"
import { type Elsewhere, Fault } from "../../kernel/fault.ts"
import type { Hosts } from "../hosts/hosts.ts"
import { MB } from "../workloads/shape.ts"
import type { Lease } from "./instance.ts"
import type { Serving } from "./serving.ts"
import { type RevisionSpec, UnservedError, type UnservedKind } from "./spec.ts"

/** Who is to answer a request. */
export interface Target {
  readonly spec: RevisionSpec
  /** Left out: the port of its requests. */
  readonly port?: number
  /** Left out: the answer may take as long as it takes. */
  readonly timeoutMs?: number
  /** Headers of the request, in lower case, that are for the platform alone. */
  readonly withheld: readonly string[]
}

/** A request that was answered: -1 where the program gave no answer. */
export interface Noted {
  readonly serviceId: string
  readonly organizationId: string
  readonly status: number
  readonly ms: number
}

export interface RoutingNeeds {
  readonly find: (request: IncomingMessage, address: string) => Promise<Target | Refusal>
  readonly serving: Pick<Serving, "acquire">
  readonly hosts: Pick<Hosts, "orElsewhere">
  /** What is under way ends when the platform stops. */
  readonly stopping: AbortSignal
  readonly note: (noted: Noted) => void
}

export const UNKNOWN: Refusal = { status: 404, text: "There is no such service." }
const SILENT: Refusal = {
  status: 502,
  text: "The service ended before it answered, or did not answer in HTTP.",
}
const LATE: Refusal = { status: 504, text: "The service did not answer in time." }

const STATUS: Readonly<Record<UnservedKind, number>> = {
  failed: 503,
  crowded: 503,
  late: 504,
  left: 499,
  stopping: 503,
  gone: 503,
}
const TEXT: Readonly<Record<UnservedKind, string>> = {
  failed: "The service could not be started; its status says why.",
  crowded: "Too many requests wait for the service.",
  late: "No instance of the service was free in time.",
  left: "",
  stopping: "The server is shutting down.",
  gone: "The service was stopped.",
}

/** An instance that has just ended may still be chosen; another is found then. */
const CONNECT_TRIES = 3
const CONNECT_AGAIN_MS = 50

const refusalOf = (error: unknown): Refusal => {
  if (error instanceof UnservedError)
    return {
      status: STATUS[error.kind],
      text: TEXT[error.kind],
      ...(error.kind === "crowded" && { headers: { "retry-after": "1" } }),
    }
  if (!(error instanceof Fault)) throw error
  const elsewhere = error.details?.elsewhere as Elsewhere | undefined
  return {
    ...{ status: 503, text: "There is no room to start the service.", headers: { "retry-after": "5" } },
    ...(elsewhere && { elsewhere }),
  }
}

const isRefusal = (found: object): found is Refusal => "status" in found

const createOpen = ({ find, serving, hosts }: RoutingNeeds) => {
  const acquire = (spec: RevisionSpec, signal: AbortSignal): Promise<Lease> =>
    hosts.orElsewhere({ memoryBytes: spec.memoryMb * MB }, () => serving.acquire(spec, signal))

  /** Undefined where nobody can be connected to. */
  return async (first: Target, request: IncomingMessage, address: string, signal: AbortSignal) => {
    let target = first
    for (let tries = 1; ; tries++) {
      try {
        const lease = await acquire(target.spec, signal)
        try {
          return { lease, connection: await lease.connect(target.port) }
        } catch {
          lease[Symbol.dispose]()
          if (tries === CONNECT_TRIES) return undefined
        }
      } catch (error) {
        if (!(error instanceof UnservedError && error.kind === "gone") || tries === CONNECT_TRIES)
          return refusalOf(error)
        const found = await find(request, address)
        if (isRefusal(found)) return found
        target = found
      }
      await delay(CONNECT_AGAIN_MS)
    }
  }
}

export const createRoute = (needs: RoutingNeeds) => {
  const { find, stopping, note } = needs
  const open = createOpen(needs)

  return async (request: IncomingMessage, address: string, signal: AbortSignal): Promise<Route | Refusal> => {
    const startedMs = performance.now()
    const found = await find(request, address)
    if (isRefusal(found)) return found
    const { spec, timeoutMs, withheld } = found
    const noted = (status: number) =>
      note({
        ...{ serviceId: spec.serviceId, organizationId: spec.organizationId, status },
        ms: performance.now() - startedMs,
      })
    const refused = (refusal: Refusal): Refusal => {
      if (refusal.status !== STATUS.left && !refusal.elsewhere) noted(refusal.status)
      return refusal
    }
    const opened = await open(found, request, address, signal)
    if (!opened) return refused(SILENT)
    if ("status" in opened) return refused(opened)
    const { lease, connection } = opened
    let isLate = false
    const end = () => connection.destroy()
    const expire = () => {
      isLate = true
      connection.destroy(new Error("it took too long"))
    }
    const timer =
      timeoutMs === undefined ? undefined : setTimeout(expire, timeoutMs - (performance.now() - startedMs))
    stopping.addEventListener("abort", end)
    connection.once("close", () => {
      clearTimeout(timer)
      stopping.removeEventListener("abort", end)
      lease[Symbol.dispose]()
    })
    if (stopping.aborted) end()
    return { connection, withheld, silent: () => (isLate ? LATE : SILENT), answered: noted }
  }
}
