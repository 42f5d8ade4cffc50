import { SANDBOX_KEPT_HOURS } from "@svc/contract"
import { createFleet, type Fleet } from "../../core/workloads/fleet.ts"
import { hostFigures, runtimeState } from "../../core/workloads/state.ts"
import { createTerminals } from "../../core/workloads/terminals.ts"
import { meterDisks } from "../../core/workloads/usage.ts"
import { DELETED_TOPIC, sandboxHandlers } from "./handlers.ts"
import type { SandboxItem } from "./items.ts"
import { createLifecycle, type Lifecycle } from "./lifecycle.ts"
import type { Needs } from "./needs.ts"
import { createGate } from "./ports/gate.ts"
import { hostedSandboxes } from "./store.ts"
import { createWarmPool } from "./warm-pool.ts"

const HOUR_MS = 3_600_000
const PRUNE_EVERY_MS = HOUR_MS
const LOSE_EVERY_MS = 5_000

/** What happens to sandboxes beside calls. */
const watchSandboxes = (needs: Needs, fleet: Fleet<SandboxItem>, lifecycle: Lifecycle): Disposable => {
  const { database, changes, clock, log, hosts, images, meters, jobs } = needs
  const hosted = hostedSandboxes(database.db)
  const logged = (act: () => Promise<void>, what: string) => () =>
    act().catch(error => log.error({ err: error }, what))
  jobs.schedule({
    name: "sandboxes.prune",
    every: PRUNE_EVERY_MS,
    run: () => hosted.prune(new Date(clock.now() - SANDBOX_KEPT_HOURS * HOUR_MS)),
  })
  hosts.keep(() => hosted.persistentIds(hosts.id))
  images.keep(() => hosted.imageDigests(hosts.id))
  hosts.onLapse(() => lifecycle.rejoin(fleet.ids()))
  changes.subscribe(DELETED_TOPIC, id => {
    if (id === undefined || !fleet.itemOf(id)) return
    fleet
      .withLock(id, () => fleet.destroy(id))
      .catch(error =>
        log.error({ err: error, sandbox: id }, "removing a deleted sandbox from its host failed"),
      )
  })
  const opened = new DisposableStack()
  opened.use(
    clock.every(
      LOSE_EVERY_MS,
      logged(
        async () => lifecycle.lose(await hosts.gone(), ["ephemeral", "persistent"]),
        "marking sandboxes of lost hosts as stopped failed; will retry",
      ),
    ),
  )
  opened.use(
    meterDisks({
      ...{ clock, meters, read: () => hosted.disks(hosts.id) },
      failed: error => log.error({ err: error }, "metering sandbox disks failed; will retry"),
    }),
  )
  return opened
}

export const start = async (services: Needs) => {
  const { runtime, hosts, clock, log, meters, sandboxPoolMax } = services
  await using opened = new AsyncDisposableStack()
  const pool = opened.use(createWarmPool({ runtime, hosts, clock, log, membersMax: sandboxPoolMax }))
  const lifecycle: Lifecycle = createLifecycle({ ...services, fleet: () => fleet })
  const fleet: Fleet<SandboxItem> = opened.use(
    createFleet({ runtime, hosts, clock, log, meters, onEnd: lifecycle.onEnd }),
  )
  await lifecycle.recover()
  opened.use(watchSandboxes(services, fleet, lifecycle))
  const { portUrls: urls, stopping } = services
  const elsewhere = async (id: string) => {
    const hostId = await hostedSandboxes(services.database.db).hostOf(id)
    return (await (hostId !== undefined && hostId !== hosts.id && hosts.at(hostId)?.())) || []
  }
  const terminals = opened.use(createTerminals({ ...services, db: services.database.db, fleet }))

  const resources = opened.move()
  return {
    operations: sandboxHandlers({ ...services, fleet, pool, lifecycle, terminals }),
    state: () =>
      runtimeState(runtime, { running: fleet.ids().length, warm: pool.size(), host: hostFigures(hosts) }),
    gate: urls && createGate({ urls, fleet, stopping, relay: services.relay, elsewhere }),
    async [Symbol.asyncDispose]() {
      await resources.disposeAsync()
      // Their workloads end with this process, and nothing of them is kept.
      await lifecycle
        .lose([hosts.id], ["ephemeral"])
        .catch(error =>
          log.warn(
            { err: error },
            "recording the end of sandboxes at shutdown failed; retried at the next start",
          ),
        )
    },
  }
}
