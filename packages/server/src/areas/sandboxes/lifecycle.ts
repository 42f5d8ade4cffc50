/** How sandboxes begin and end: what runs, and what is on record of it. */
import type { SandboxStopReason } from "@svc/contract"
import type { Hosts } from "../../core/hosts/hosts.ts"
import { HOST, type Image, type Images } from "../../core/images/images.ts"
import type { PlatformEvents } from "../../core/platform-events/platform-events.ts"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Env } from "../../core/workloads/env.ts"
import type { Fleet } from "../../core/workloads/fleet.ts"
import { startFault } from "../../core/workloads/served.ts"
import { type EndReason, isNoFailure, type Live, UnwantedError } from "../../core/workloads/workload.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Database, Db } from "../../kernel/db/database.ts"
import { Fault, fault } from "../../kernel/fault.ts"
import type { Logger } from "../../kernel/log.ts"
import { envOf, type SandboxItem, toItem } from "./items.ts"
import { createRecords, eventOf } from "./records.ts"
import { cwdIn } from "./rules.ts"
import type { Member } from "./shelf.ts"
import { hostedSandboxes, type SandboxRow, sandboxStore } from "./store.ts"

export interface LifecycleNeeds {
  readonly database: Database
  readonly platformEvents: PlatformEvents
  readonly hosts: Hosts
  readonly images: Images
  readonly clock: Clock
  readonly log: Logger
  readonly box: SecretBox
  readonly fleet: () => Fleet<SandboxItem>
}

const reasons: Readonly<Record<EndReason, SandboxStopReason>> = {
  deadline: "deadline",
  idle: "idle_timeout",
  out_of_memory: "oom",
  died: "error",
}

export const createLifecycle = (needs: LifecycleNeeds) => {
  const { database, platformEvents, hosts, images, clock, log, box } = needs
  const { recordStop, recordStart, recordFailure } = createRecords(needs)
  const now = () => new Date(clock.now())

  /** While its image came, it may have been stopped or deleted. */
  const demandWanted = async ({ organization_id, owner_id, id, status }: SandboxRow): Promise<void> => {
    const owner = { organizationId: organization_id, ownerId: owner_id }
    const current = await sandboxStore(database.db).find(owner, id)
    if (!current) throw fault("sandbox_not_found", { id })
    if (current.status === "STOPPED" && status !== "STOPPED") throw new UnwantedError()
  }

  /** Starts it. Rejects with why it does not start, which is then on record. */
  const launch = async (given: SandboxRow, env: Env, room?: Disposable): Promise<SandboxRow> => {
    const fleet = needs.fleet()
    let row = given
    // Who it is, until its image is there.
    const item = toItem(row, env, images.host)
    const prepare = async () => {
      const image = await images.prepare(row.template, row.image_digest)
      await demandWanted(row)
      row = { ...row, image_digest: image.digest, cwd: row.cwd ?? cwdIn(image.config) }
      return toItem(row, env, image)
    }
    const beganMs = performance.now()
    let started: SandboxRow | undefined
    let failure: unknown
    const live = await fleet.launch(item, {
      ...(room && { room }),
      ...(row.template !== HOST && { prepare }),
      timeoutMs: row.timeout_seconds === null ? null : row.timeout_seconds * 1000,
      async settle(live) {
        started = await recordStart(row, live, Math.round(performance.now() - beganMs))
      },
      async fail(error) {
        failure = error
        if (!(error instanceof Fault)) log.warn({ err: error, sandbox: row.id }, "starting a sandbox failed")
        const isGone = error instanceof Fault && error.code === "sandbox_not_found"
        if (item.kind === "ephemeral" || isGone) await fleet.destroy(row.id)
        if (!isGone && !isNoFailure(error)) await recordFailure(row, error)
      },
    })
    if (live && started) return started
    const found = await sandboxStore(database.db).find(
      { organizationId: row.organization_id, ownerId: row.owner_id },
      row.id,
    )
    if (live && found) return found
    throw startFault(failure)
  }

  /** Whoever asked is not waiting: what went wrong is on record. */
  const launchSoon = (row: SandboxRow, env: Env, room?: Disposable): void =>
    void launch(row, env, room).catch(error =>
      log.debug(
        { err: error, sandbox: row.id },
        "starting a sandbox failed for a reason that its caller has been given",
      ),
    )

  return {
    recordStop,
    launch,

    /** A new one, whose row is committed: takes over the member that it was given, or starts one in its room. */
    begin(row: SandboxRow, env: Env, place: Member | Disposable, image: Image = images.host): void {
      if ("guest" in place)
        needs.fleet().adopt(toItem(row, env, image), place, row.expires_at?.getTime() ?? null)
      else launchSoon(row, env, place)
    },

    async onEnd(live: Live<SandboxItem>, reason: EndReason): Promise<void> {
      const { spec, organizationId, kind } = live.item
      if (kind === "ephemeral") await needs.fleet().destroy(spec.id)
      await recordStop({ id: spec.id, organization_id: organizationId }, reasons[reason], live)
    },

    /** After a start of this process: nothing runs yet, whatever the rows say. */
    async recover(): Promise<void> {
      await this.lose([hosts.id], ["ephemeral"])
      for (const row of await hostedSandboxes(database.db).shouldRun(hosts.id)) {
        launchSoon(row, await envOf(box, row))
      }
    },

    /** Ends on record what ran on hosts that are gone. */
    async lose(hostIds: readonly string[], kinds: readonly ("ephemeral" | "persistent")[]): Promise<void> {
      if (hostIds.length === 0) return
      await database.transaction(async (tx: Db) => {
        const lost = await hostedSandboxes(tx).lose(hostIds, kinds, now(), "host_lost")
        await platformEvents.emit(tx, ...lost.map(row => eventOf("sandbox.stopped", row)))
      })
    },

    /** This host was taken for gone: what is not meant to run any more ends, and what should run does. */
    async rejoin(ids: readonly string[]): Promise<void> {
      const fleet = needs.fleet()
      const hosted = hostedSandboxes(database.db)
      const should = (await hosted.shouldRun(hosts.id)).filter(({ status }) => status === "STOPPED")
      const ended = ids.length === 0 ? [] : await hosted.ended(hosts.id, ids)
      const again = new Set(should.map(({ id }) => id))
      for (const id of ended.filter(id => !again.has(id))) await fleet.withLock(id, () => fleet.destroy(id))
      for (const row of should) {
        await fleet.withLock(row.id, () => fleet.stop(row.id))
        launchSoon(row, await envOf(box, row))
      }
    },
  }
}

export type Lifecycle = ReturnType<typeof createLifecycle>
