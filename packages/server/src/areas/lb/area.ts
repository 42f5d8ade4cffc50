import { createClientAddress } from "../../kernel/edges/client-address.ts"
import { every } from "../../kernel/every.ts"
import { provide } from "../../kernel/token.ts"
import { loadBalancerTarget } from "../domains/offers.ts"
import { createDomainTarget } from "./domain-target.ts"
import { createDataPlane } from "./gate.ts"
import { lbHandlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"
import { loadBalancers } from "./offers.ts"
import { createPorts } from "./ports.ts"
import { lbUrlsOf } from "./settings.ts"
import { configStore, lbStore } from "./store.ts"
import { createTable } from "./table.ts"

/** A port that another program had is tried again. */
const PORTS_EVERY_MS = 30_000

export const start = async (services: Needs) => {
  const { database, changes, clock, log, baseUrl, installation, outbound, sockets, stopping, settings } =
    services
  const urls = lbUrlsOf(settings, baseUrl)
  await using opened = new AsyncDisposableStack()
  const connect = (host: string, port: number) => sockets.connect(host, port)
  const table = opened.use(createTable({ configs: configStore(database.db), changes, connect, clock, log }))
  const plane = createDataPlane({ table, urls, stopping, inspector: services.inspector, now: clock.now })
  const ports = opened.use(
    createPorts({
      host: installation.host,
      plane,
      clientAddress: createClientAddress(installation.trustedProxies),
      log,
    }),
  )
  const sync = () => {
    const { lbPorts } = settings
    if (!lbPorts) return Promise.resolve()
    const wanted = [...table.all()].flatMap(({ config: { id, listen_port: port } }) =>
      port !== null && port >= lbPorts.first && port <= lbPorts.last ? [[port, id] as const] : [],
    )
    return ports.sync(new Map(wanted))
  }
  table.onChange(() => void sync())
  if (settings.lbPorts) opened.use(every(clock, PORTS_EVERY_MS, sync))
  await table.load()

  const live = {
    urls,
    view: (balancerId: string, backendId: string) => table.byId(balancerId)?.view(backendId),
    portProblem: ports.problem,
  }
  const resources = opened.move()
  return {
    operations: lbHandlers({ changes, outbound, table, live, ports: settings.lbPorts }),
    gate: plane.gate,
    provides: [
      provide(loadBalancerTarget, createDomainTarget(database.db, plane)),
      provide(loadBalancers, {
        exists: async (db, projectId, id) => (await lbStore(db).find(projectId, id)) !== undefined,
      }),
    ],
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
