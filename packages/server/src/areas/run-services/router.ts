/** Requests for the host names of services, each to an instance of the revision that its share chooses. */
import type { IncomingMessage } from "node:http"
import { setTimeout as delay } from "node:timers/promises"
import type { Refusal, Route } from "../../kernel/edges/forwarding.ts"
import { type Elsewhere, Fault } from "../../kernel/fault.ts"
import type { Hosts } from "../../services/hosts/hosts.ts"
import type { Lease } from "../../services/serving/instance.ts"
import type { Serving } from "../../services/serving/serving.ts"
import { type RevisionSpec, UnservedError, type UnservedKind } from "../../services/serving/spec.ts"
import { MB } from "../../services/workloads/shape.ts"
import { type AccessNeeds, createAccess } from "./access.ts"
import type { Directory } from "./directory.ts"
import type { Served } from "./figures.ts"
import type { ServiceRow } from "./store.ts"
import { pickRevision } from "./traffic.ts"
import type { ServiceUrls } from "./urls.ts"

export interface RouterNeeds extends AccessNeeds {
  readonly urls: ServiceUrls
  readonly directory: Directory
  readonly serving: Pick<Serving, "acquire">
  readonly hosts: Pick<Hosts, "orElsewhere">
  /** What is under way ends when the platform stops. */
  readonly stopping: AbortSignal
  readonly note: (served: Served) => void
}

const UNKNOWN: Refusal = { status: 404, text: "There is no such service." }
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
}
const TEXT: Readonly<Record<UnservedKind, string>> = {
  failed: "The service could not be started; its status says why.",
  crowded: "Too many requests wait for the service.",
  late: "No instance of the service was free in time.",
  left: "",
  stopping: "The server is shutting down.",
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

interface Target {
  readonly service: ServiceRow
  readonly spec: RevisionSpec
  readonly timeoutMs: number
  readonly withheld: readonly string[]
}

const createFind = (needs: RouterNeeds) => {
  const { urls, directory } = needs
  const admit = createAccess(needs)

  return async (request: IncomingMessage, address: string): Promise<Target | Refusal> => {
    const host = urls.read(request.headers.host ?? "")
    const known = host && (await directory.find(host.label))
    if (!host || !known) return UNKNOWN
    const { service, revisions } = known
    const number = pickRevision(service, host.tag, Math.random() * 100)
    const chosen = number === undefined ? undefined : revisions.get(number)
    if (!chosen) return UNKNOWN
    const of = { service, spec: chosen.spec, timeoutMs: chosen.row.timeout_seconds * 1000 }
    if (service.is_public) return { ...of, withheld: [] }
    const admitted = await admit(service, request, address)
    return "status" in admitted ? admitted : { ...of, withheld: [admitted.withheld] }
  }
}

const isRefusal = (found: object): found is Refusal => "status" in found

export const createRoute = (needs: RouterNeeds) => {
  const { serving, hosts, stopping, note } = needs
  const find = createFind(needs)

  const open = async (spec: RevisionSpec, signal: AbortSignal) => {
    for (let tries = 1; ; tries++) {
      const lease: Lease = await hosts.orElsewhere({ memoryBytes: spec.memoryMb * MB }, () =>
        serving.acquire(spec, signal),
      )
      try {
        return { lease, connection: await lease.connect() }
      } catch {
        lease[Symbol.dispose]()
        if (tries === CONNECT_TRIES) return undefined
        await delay(CONNECT_AGAIN_MS)
      }
    }
  }

  return async (request: IncomingMessage, address: string, signal: AbortSignal): Promise<Route | Refusal> => {
    const startedMs = performance.now()
    const found = await find(request, address)
    if (isRefusal(found)) return found
    const { service, spec, timeoutMs, withheld } = found
    const noted = (status: number) =>
      note({
        ...{ serviceId: service.id, organizationId: service.organization_id, status },
        ms: performance.now() - startedMs,
      })
    const refused = (refusal: Refusal): Refusal => {
      if (refusal.status !== STATUS.left && !refusal.elsewhere) noted(refusal.status)
      return refusal
    }
    const opened = await open(spec, signal).catch(error => refusalOf(error))
    if (!opened) return refused(SILENT)
    if ("status" in opened) return refused(opened)
    const { lease, connection } = opened
    let isLate = false
    const end = () => connection.destroy()
    const timer = setTimeout(
      () => {
        isLate = true
        connection.destroy(new Error("it took too long"))
      },
      timeoutMs - (performance.now() - startedMs),
    )
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
