import { SANDBOX_KEPT_HOURS } from "@svc/contract"
import { hostFigures, runtimeState } from "../../services/workloads/state.ts"
import { sandboxHandlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"
import { sandboxPolicy } from "./policy.ts"
import { createGate } from "./ports/gate.ts"
import { portUrlsOf } from "./settings.ts"
import { sandboxStore } from "./store.ts"
import { createWarmPool } from "./warm-pool.ts"

const HOUR_MS = 3_600_000
const PRUNE_EVERY_MS = HOUR_MS

export const start = async (services: Needs) => {
  const { database, runtime, hosts, clock, log, jobs, relay, stopping, settings } = services
  const urls = portUrlsOf(settings, services)
  const store = sandboxStore(database.db)
  await using opened = new AsyncDisposableStack()
  const pool = opened.use(createWarmPool({ runtime, hosts, clock, log, membersMax: settings.sandboxPoolMax }))
  const workloads = opened.use(await services.workloads.open(sandboxPolicy))
  const { fleet } = workloads
  jobs.schedule({
    name: "sandboxes.prune",
    every: PRUNE_EVERY_MS,
    run: () => store.prune(new Date(clock.now() - SANDBOX_KEPT_HOURS * HOUR_MS)),
  })
  const elsewhere = async (id: string) => {
    const hostId = await store.hostOf(id)
    return (await (hostId !== undefined && hostId !== hosts.id && hosts.at(hostId)?.())) || []
  }

  const resources = opened.move()
  return {
    operations: sandboxHandlers({ ...services, portUrls: urls, workloads, pool }),
    state: () =>
      runtimeState(runtime, { running: fleet.ids().length, warm: pool.size(), host: hostFigures(hosts) }),
    gate: urls && createGate({ urls, fleet, stopping, relay, elsewhere }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
