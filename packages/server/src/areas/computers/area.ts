import { createFleet, type Fleet } from "../../core/workloads/fleet.ts"
import { runtimeState } from "../../core/workloads/state.ts"
import { createTerminals } from "../../core/workloads/terminals.ts"
import { meterDisks } from "../../core/workloads/usage.ts"
import { computerHandlers, DELETED_TOPIC } from "./handlers.ts"
import type { ComputerItem } from "./items.ts"
import { createLifecycle, type Lifecycle } from "./lifecycle.ts"
import type { Needs } from "./needs.ts"
import { createSshGateway } from "./ssh/gateway.ts"
import { hostFingerprint, publicHostKey } from "./ssh/host-key.ts"
import { hostedComputers } from "./store.ts"

const LOSE_EVERY_MS = 5_000

/** What happens to computers beside calls. */
const watchComputers = (needs: Needs, fleet: Fleet<ComputerItem>, lifecycle: Lifecycle): Disposable => {
  const { database, changes, clock, log, hosts, images, meters } = needs
  const hosted = hostedComputers(database.db)
  hosts.keep(() => hosted.ids(hosts.id))
  images.keep(() => hosted.imageDigests(hosts.id))
  hosts.onLapse(lifecycle.recover)
  changes.subscribe(DELETED_TOPIC, id => {
    if (id === undefined || !fleet.itemOf(id)) return
    fleet
      .withLock(id, () => fleet.destroy(id))
      .catch(error =>
        log.error({ err: error, computer: id }, "removing a deleted computer from its host failed"),
      )
  })
  const lose = () =>
    hosts
      .gone()
      .then(lifecycle.lose)
      .catch(error =>
        log.error({ err: error }, "marking computers of lost hosts as stopped failed; will retry"),
      )
  const opened = new DisposableStack()
  opened.use(clock.every(LOSE_EVERY_MS, lose))
  opened.use(
    meterDisks({
      ...{ clock, meters, read: () => hosted.disks(hosts.id) },
      failed: error => log.error({ err: error }, "metering computer disks failed; will retry"),
    }),
  )
  return opened
}

export const start = async (services: Needs) => {
  const { runtime, hosts, clock, log, meters } = services
  await using opened = new AsyncDisposableStack()
  const lifecycle: Lifecycle = createLifecycle({ ...services, fleet: () => fleet })
  const fleet: Fleet<ComputerItem> = opened.use(
    createFleet({ runtime, hosts, clock, log, meters, onEnd: lifecycle.onEnd }),
  )
  await lifecycle.recover()
  opened.use(watchComputers(services, fleet, lifecycle))
  const { ssh: settings } = services
  const gateway = settings && opened.use(createSshGateway({ ...services, settings, fleet }))
  if (gateway) services.sshClients.provide(gateway.accept)
  const ssh = gateway && {
    host: settings.host,
    port: settings.port,
    hostKey: publicHostKey(settings.hostKey),
    fingerprint: hostFingerprint(settings.hostKey),
    keysChanged: gateway.keysChanged,
  }

  const terminals = opened.use(createTerminals({ ...services, db: services.database.db, fleet }))

  const resources = opened.move()
  return {
    operations: computerHandlers({ ...services, fleet, lifecycle, ssh, terminals }),
    state: () => runtimeState(runtime, { running: fleet.ids().length, ssh: ssh !== undefined }),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
