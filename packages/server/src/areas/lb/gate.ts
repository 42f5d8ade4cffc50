/** Requests to load balancers: by the host names of their URLs, or by a port of their own. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import type { HostGate } from "../../kernel/edges/host-gate.ts"
import { type Offer, provided } from "../../kernel/offer.ts"
import { requestIdFor } from "../../kernel/pipeline.ts"
import { isSmall, readAhead } from "../../services/proxy/body.ts"
import { type Forwarded, forward, type ReadBody, responseOn } from "../../services/proxy/forward.ts"
import { inspectRequest, type RequestInspector } from "../../services/proxy/inspector.ts"
import { type Refusal, refuse } from "../../services/proxy/refusal.ts"
import { guardRequest } from "../../services/proxy/request-guard.ts"
import type { Balancer } from "./balancer.ts"
import type { LbUrls } from "./settings.ts"
import type { Table } from "./table.ts"

/** Bodies up to this size are kept until there is an answer, so that the request can be sent twice. */
const KEPT_BODY_BYTES_MAX = 16_384
/** Of one load balancer in this process. */
const REQUESTS_MAX = 10_000

const UNKNOWN: Refusal = { status: 404, text: "There is no such load balancer." }
const CROWDED: Refusal = { status: 503, text: "The load balancer has too many requests under way." }
const MISDIRECTED: Refusal = { status: 421, text: "This host name is not served here." }

export interface Asked {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The client's. */
  readonly address: string
  readonly scheme: string
  readonly upgrade?: { readonly socket: Socket; readonly head: Buffer }
}

export interface DataPlane {
  readonly gate: HostGate | undefined
  /** A request to the port of a load balancer. */
  serve(balancerId: string, asked: Asked): void
  /** A request for a domain that was pointed at a load balancer. */
  serveDomain(balancerId: string, asked: Asked): void
}

const refused = (response: ServerResponse, refusal: Refusal): Forwarded => {
  refuse(response, refusal)
  return { status: refusal.status, attempts: 0, error: "the firewall refused it" }
}

const nameOf = (host = ""): string => host.toLowerCase().replace(/:\d+$/, "")

export const createDataPlane = (needs: {
  readonly table: Table
  readonly urls: LbUrls | undefined
  readonly stopping: AbortSignal
  readonly inspector: Offer<RequestInspector>
  readonly now: () => number
}): DataPlane => {
  const { table, urls, stopping, inspector, now } = needs
  const underWay = new Map<string, number>()

  /** Why the firewall of a load balancer that has one refuses the request, and what was read for it. */
  const judge = (
    { config: { project_id: projectId, id: loadBalancerId, waf_enabled, waf_mode } }: Balancer,
    { request, response, address, upgrade }: Asked,
    { target, requestId }: { readonly target: string; readonly requestId: string },
  ):
    | Promise<{ readonly refusal?: Refusal | undefined; readonly body?: ReadBody | undefined }>
    | undefined => {
    if (!waf_enabled) return undefined
    const open = async () =>
      (await provided(inspector)).open({ projectId, loadBalancerId, detectsOnly: waf_mode === "detect" })
    return inspectRequest(
      open,
      { request, target, address, requestId },
      { response, hasBody: upgrade === undefined, keptBytesMax: KEPT_BODY_BYTES_MAX },
    )
  }

  const pass = async (balancer: Balancer, asked: Asked, target: string): Promise<void> => {
    const { request, response, address, scheme, upgrade } = asked
    const { config, log } = balancer
    const startedMs = performance.now()
    const requestId = requestIdFor(request.headers["x-request-id"] as string | undefined)
    const timestamp = new Date(now()).toISOString()
    balancer.begin()
    const judged = await judge(balancer, asked, { target, requestId })
    const body =
      !judged && upgrade === undefined && isSmall(request, KEPT_BODY_BYTES_MAX)
        ? await readAhead(request, response, KEPT_BODY_BYTES_MAX + 1)
        : judged?.body
    const client = { address, cookie: request.headers.cookie, isSecure: scheme === "https" }
    const outcome = judged?.refusal
      ? refused(response, judged.refusal)
      : await forward({
          ...{ request, response, target, address, scheme, requestId, body, stopping, now },
          ...(upgrade && { upgrade }),
          idleMs: config.idle_timeout_seconds * 1000,
          pick: tried => balancer.pick(client, tried),
          mayRetry: balancer.mayRetry,
        })
    log.add({
      ...{ timestamp, request_id: requestId, client_ip: address, method: request.method ?? "" },
      ...{ host: request.headers.host ?? "", path: target.split("?", 1)[0] ?? "", status: outcome.status },
      ...{ backend_id: outcome.picked ?? null, attempts: outcome.attempts, error: outcome.error ?? null },
      duration_ms: Math.round(performance.now() - startedMs),
    })
  }

  const hold = (id: string, response: ServerResponse): boolean => {
    const count = underWay.get(id) ?? 0
    if (count >= REQUESTS_MAX) return false
    underWay.set(id, count + 1)
    response.once("close", () => {
      const left = (underWay.get(id) ?? 1) - 1
      if (left > 0) underWay.set(id, left)
      else underWay.delete(id)
    })
    return true
  }

  const answer = async (find: () => Promise<Balancer | Refusal> | Balancer | Refusal, asked: Asked) => {
    const { request, response } = asked
    response.on("error", () => undefined)
    const target = guardRequest(request)
    if (typeof target !== "string") return refuse(response, target)
    const found = find()
    const balancer = found instanceof Promise ? await found : found
    if ("status" in balancer) return refuse(response, balancer)
    if (!hold(balancer.config.id, response)) return refuse(response, CROWDED)
    await pass(balancer, asked, target)
  }

  const handle = (find: () => Promise<Balancer | Refusal> | Balancer | Refusal, asked: Asked): void => {
    answer(find, asked).catch(() => void asked.response.destroy())
  }

  const byName = (host = "") => {
    const hostId = urls?.read(host)
    const found = hostId === undefined ? undefined : table.byHost(hostId)
    return found instanceof Promise ? found.then(balancer => balancer ?? UNKNOWN) : (found ?? UNKNOWN)
  }

  const byPort = (id: string, host: string | undefined) => {
    const balancer = table.byId(id)
    if (!balancer) return UNKNOWN
    const { hostnames } = balancer.config
    return hostnames.length === 0 || hostnames.includes(nameOf(host)) ? balancer : MISDIRECTED
  }

  return {
    gate: urls && {
      claims: ({ headers }) => urls.claims(headers.host),
      serve: (request, response, address) =>
        handle(() => byName(request.headers.host), { request, response, address, scheme: urls.scheme }),
      upgrade(request, socket: Duplex, head, address) {
        socket.on("error", () => undefined)
        const response = responseOn(request, socket as Socket)
        const upgrade = { socket: socket as Socket, head }
        handle(() => byName(request.headers.host), {
          request,
          response,
          address,
          scheme: urls.scheme,
          upgrade,
        })
      },
    },
    serveDomain: (id, asked) => handle(() => table.byId(id) ?? UNKNOWN, asked),
    serve: (id, asked) => handle(() => byPort(id, asked.request.headers.host), asked),
  }
}
