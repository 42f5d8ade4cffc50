/** Requests to ports of sandboxes, by the host names of their URLs. */
import type { IncomingMessage } from "node:http"
import { createForwarding, type Refusal, type Route } from "../../../kernel/edges/forwarding.ts"
import type { HostGate } from "../../../kernel/edges/host-gate.ts"
import type { Relay } from "../../../kernel/edges/relay.ts"
import type { Fleet } from "../../../services/workloads/fleet.ts"
import { awaitStart } from "../../../services/workloads/served.ts"
import type { Live } from "../../../services/workloads/workload.ts"
import type { SandboxItem } from "../policy.ts"
import type { PortUrls } from "./urls.ts"

export interface GateNeeds {
  readonly urls: PortUrls
  readonly fleet: Fleet<SandboxItem>
  /** What is under way ends when the platform stops. */
  readonly stopping: AbortSignal
  readonly relay: Relay
  /** Who serves a sandbox that does not run here. */
  readonly elsewhere: (id: string) => Promise<readonly URL[]>
}

/** Of one sandbox: half of what its agent has channels for. */
const CONNECTIONS_MAX = 128

const UNKNOWN: Refusal = { status: 404, text: "There is no such sandbox, or it does not show this port." }
const ELSEWHERE: Refusal = { status: 503, text: "The sandbox does not run here." }
const CROWDED: Refusal = { status: 503, text: "The sandbox has too many connections." }
const SILENT: Refusal = { status: 502, text: "Nothing answers on this port of the sandbox." }

/** Opens connections to the ports that requests are for; a sandbox is in use until they close. */
const createRoute = ({ urls, fleet, stopping, elsewhere }: GateNeeds) => {
  const open = new Map<string, number>()

  const find = async ({ headers }: IncomingMessage) => {
    const of = urls.read(headers.host ?? "")
    if (!of) return UNKNOWN
    const item = fleet.itemOf(of.id)
    if (!item) return { ...ELSEWHERE, elsewhere: () => elsewhere(of.id) }
    if (!item.ports.includes(of.port)) return UNKNOWN
    const ready = fleet.ready(of.id)
    const live = ready instanceof Promise ? await awaitStart(ready, stopping) : ready
    return live ? { live, port: of.port } : { ...ELSEWHERE, elsewhere: () => elsewhere(of.id) }
  }

  const hold = (live: Live<SandboxItem>): Disposable | undefined => {
    const { id } = live.item.spec
    const count = open.get(id) ?? 0
    if (count >= CONNECTIONS_MAX) return undefined
    open.set(id, count + 1)
    const held = fleet.hold(live)
    return {
      [Symbol.dispose]() {
        held[Symbol.dispose]()
        const left = (open.get(id) ?? 1) - 1
        if (left > 0) open.set(id, left)
        else open.delete(id)
      },
    }
  }

  return async (request: IncomingMessage): Promise<Route | Refusal> => {
    const found = await find(request)
    if ("status" in found) return found
    const held = hold(found.live)
    if (!held) return CROWDED
    const connection = await found.live.guest.connect(found.port).catch(() => undefined)
    if (!connection || stopping.aborted) {
      held[Symbol.dispose]()
      connection?.destroy()
      return SILENT
    }
    const stop = () => connection.destroy()
    stopping.addEventListener("abort", stop)
    connection.once("close", () => {
      stopping.removeEventListener("abort", stop)
      held[Symbol.dispose]()
    })
    return { connection, silent: () => SILENT }
  }
}

export const createGate = (needs: GateNeeds): HostGate =>
  createForwarding({
    ...{ claims: ({ headers }) => needs.urls.claims(headers.host), scheme: needs.urls.scheme },
    ...{ relay: needs.relay, route: createRoute(needs) },
  })
