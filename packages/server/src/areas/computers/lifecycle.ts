/** How computers start and stop: what runs, and what is on record of it. */
import type { Hosts } from "../../core/hosts/hosts.ts"
import { HOST, type Images } from "../../core/images/images.ts"
import type { PlatformEvents } from "../../core/platform-events/platform-events.ts"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Env } from "../../core/workloads/env.ts"
import type { Fleet } from "../../core/workloads/fleet.ts"
import { startFault } from "../../core/workloads/served.ts"
import { type EndReason, isNoFailure, type Live, UnwantedError } from "../../core/workloads/workload.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Database } from "../../kernel/db/database.ts"
import { Fault, fault } from "../../kernel/fault.ts"
import type { Logger } from "../../kernel/log.ts"
import type { RuntimePort } from "../../ports/runtime/port.ts"
import { type ComputerItem, envOf, toItem } from "./items.ts"
import { createRecords, eventOf } from "./records.ts"
import { deliverKeys } from "./ssh-keys.ts"
import { type ComputerRow, computerStore, hostedComputers } from "./store.ts"

export interface LifecycleNeeds {
  readonly database: Database
  readonly platformEvents: PlatformEvents
  readonly runtime: RuntimePort
  readonly hosts: Hosts
  readonly images: Images
  readonly clock: Clock
  readonly log: Logger
  readonly box: SecretBox
  readonly fleet: () => Fleet<ComputerItem>
}

/** What `status_reason` says of one that stopped without having been asked to. */
const reasons: Readonly<Record<EndReason, string | null>> = {
  deadline: null,
  idle: "nobody used it for auto_stop_seconds",
  out_of_memory: "it ran out of memory",
  died: "it ended by itself",
}

export const createLifecycle = (needs: LifecycleNeeds) => {
  const { database, platformEvents, runtime, hosts, images, clock, log, box } = needs
  const { recordStop, recordStart, recordFailure } = createRecords(needs)
  const now = () => new Date(clock.now())

  const settle = async (row: ComputerRow, live: Live<ComputerItem>): Promise<ComputerRow> => {
    const started = await recordStart(row)
    // As they are now: they may have been replaced while it started.
    await deliverKeys(live.guest, started.ssh_keys).catch(error =>
      log.warn({ err: error, computer: row.id }, "installing ssh keys on a started computer failed"),
    )
    return started
  }

  /** While its image came, it may have been stopped or deleted. */
  const demandWanted = async ({ organization_id, owner_id, id, status }: ComputerRow): Promise<void> => {
    const owner = { organizationId: organization_id, ownerId: owner_id }
    const current = await computerStore(database.db).find(owner, id)
    if (!current) throw fault("computer_not_found", { id })
    if (current.status === "STOPPED" && status !== "STOPPED") throw new UnwantedError()
  }

  /** Starts it. Rejects with why it does not start, which is then on record. */
  const launch = async (given: ComputerRow, env: Env, room?: Disposable): Promise<ComputerRow> => {
    let row = given
    const prepare = async () => {
      const image = await images.prepare(row.image, row.image_digest)
      await demandWanted(row)
      row = { ...row, image_digest: image.digest }
      return toItem(row, env, runtime.capabilities, image)
    }
    let started: ComputerRow | undefined
    let failure: unknown
    const live = await needs.fleet().launch(toItem(row, env, runtime.capabilities, images.host), {
      ...(room && { room }),
      ...(row.image !== HOST && { prepare }),
      timeoutMs: null,
      async settle(live) {
        started = await settle(row, live)
      },
      async fail(error) {
        failure = error
        if (!(error instanceof Fault))
          log.warn({ err: error, computer: row.id }, "starting a computer failed")
        const isGone = error instanceof Fault && error.code === "computer_not_found"
        if (isGone) await needs.fleet().destroy(row.id)
        else if (!isNoFailure(error)) await recordFailure(row, error)
      },
    })
    if (live && started) return started
    const owner = { organizationId: row.organization_id, ownerId: row.owner_id }
    const found = await computerStore(database.db).find(owner, row.id)
    if (live && found) return found
    throw startFault(failure)
  }

  /** Whoever asked is not waiting: what went wrong is on record. */
  const launchSoon = (row: ComputerRow, env: Env, room?: Disposable): void =>
    void launch(row, env, room).catch(error =>
      log.debug(
        { err: error, computer: row.id },
        "starting a computer failed for a reason that its caller has been given",
      ),
    )

  return {
    recordStop,
    launch,
    launchSoon,

    async onEnd(live: Live<ComputerItem>, reason: EndReason): Promise<void> {
      const { spec, organizationId } = live.item
      await recordStop({ id: spec.id, organization_id: organizationId }, reasons[reason], live)
    },

    /** Starts what should run here and does not. */
    async recover(): Promise<void> {
      for (const row of await hostedComputers(database.db).shouldRun(hosts.id)) {
        if (!needs.fleet().find(row.id)) launchSoon(row, await envOf(box, row))
        else if (row.host_lost) await recordStart(row)
      }
    },

    /** Says of computers whose hosts are gone that they do not run. */
    async lose(hostIds: readonly string[]): Promise<void> {
      if (hostIds.length === 0) return
      await database.transaction(async tx => {
        const lost = await hostedComputers(tx).lose(hostIds, now())
        await platformEvents.emit(tx, ...lost.map(row => eventOf("computer.stopped", row)))
      })
    },
  }
}

export type Lifecycle = ReturnType<typeof createLifecycle>
