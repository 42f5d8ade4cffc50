/** How workloads begin and end by themselves: what runs, and what is on record of it. */

import { Fault, fault, isFault } from "../../kernel/fault.ts"
import { HOST, type Image } from "../images/images.ts"
import { type Env, openEnv } from "./env.ts"
import type { Fleet } from "./fleet.ts"
import type { WorkloadNeeds } from "./needs.ts"
import type { CommandWorkload, WorkloadPolicy, WorkloadRow } from "./policy.ts"
import type { Records } from "./records.ts"
import { startFault } from "./served.ts"
import { workloadStore } from "./store.ts"
import { type EndReason, isNoFailure, type Live, type Started, UnwantedError } from "./workload.ts"

export const isPersistent = ({ spec }: CommandWorkload): boolean => spec.disk.kind === "persistent"

export const createLifecycle = <Row extends WorkloadRow, Item extends CommandWorkload>(
  policy: WorkloadPolicy<Row, Item>,
  needs: WorkloadNeeds & { readonly fleet: Fleet<Item>; readonly records: Records<Row, Item> },
) => {
  const { database, runtime, images, log, box, fleet, records } = needs
  const { resource, faults } = policy
  const toItem = (row: Row, env: Env, image: Image) => policy.toItem(row, env, image, runtime.capabilities)
  const current = ({ organization_id, owner_id, id }: Row): Promise<Row | undefined> =>
    workloadStore<Row>(database.db, policy).find({ organizationId: organization_id, ownerId: owner_id }, id)

  /** It may have been stopped or deleted while its image was pulled. */
  const demandWanted = async (row: Row): Promise<void> => {
    const now = await current(row)
    if (!now) throw fault(faults.notFound, { id: row.id })
    if (now.status === "STOPPED" && row.status !== "STOPPED") throw new UnwantedError()
  }

  const openEnvOf = ({ id, organization_id, env }: Row): Promise<Env> =>
    openEnv(box, { organizationId: organization_id, kind: resource, id }, env)

  const settleFailure = async (row: Row, item: Item, error: unknown): Promise<void> => {
    if (!(error instanceof Fault))
      log.warn({ err: error, [resource]: row.id }, `starting a ${resource} failed`)
    const isGone = isFault(error, faults.notFound)
    if (isGone || !isPersistent(item)) await fleet.destroy(row.id)
    if (!isGone && !isNoFailure(error)) await records.recordFailure(row, error)
  }

  /** Starts it. Rejects with why it does not start, which is then on record. */
  const launch = async (row: Row, env: Env, room?: Disposable): Promise<Row> => {
    let image = images.host
    let digest = row.image_digest
    // Who it is, until its image is there.
    const item = toItem(row, env, image)
    const prepare = async () => {
      image = await images.prepare(policy.imageOf(row), row.image_digest)
      digest = image.digest
      await demandWanted(row)
      return toItem(row, env, image)
    }
    const beganMs = performance.now()
    let started: Row | undefined
    let failure: unknown
    const live = await fleet.launch(item, {
      ...(room && { room }),
      ...(policy.imageOf(row) !== HOST && { prepare }),
      timeoutMs: policy.timeoutMsOf(row),
      async settle(live) {
        const provisionMs = Math.round(performance.now() - beganMs)
        started = await records.recordStart(row, live, { image_digest: digest, provisionMs })
        await policy.afterStart?.(live, started)
      },
      async fail(error) {
        failure = error
        await settleFailure(row, item, error)
      },
    })
    const now = live && (started ?? (await current(row)))
    if (!now) throw startFault(failure)
    return now
  }

  return {
    launch: async (row: Row): Promise<Row> => await launch(row, await openEnvOf(row)),

    /** For callers who do not wait: what goes wrong is on record. */
    launchSoon: (row: Row, env?: Env, room?: Disposable): void => {
      const begin = async () => await launch(row, env ?? (await openEnvOf(row)), room)
      begin().catch(error =>
        log.debug(
          { err: error, [resource]: row.id },
          `starting a ${resource} failed for a reason that its caller has been given`,
        ),
      )
    },

    /** Takes over a workload that runs already, for a row that is committed. */
    adopt: (row: Row, env: Env, image: Image, started: Started, expiresAtMs: number | null): void =>
      void fleet.adopt(toItem(row, env, image), started, expiresAtMs),

    async onEnd(live: Live<Item>, reason: EndReason): Promise<void> {
      const { spec, organizationId } = live.item
      if (!isPersistent(live.item)) await fleet.destroy(spec.id)
      await records.recordStop({ id: spec.id, organization_id: organizationId }, reason, live)
    },
  }
}

export type Lifecycle<Row extends WorkloadRow, Item extends CommandWorkload> = ReturnType<
  typeof createLifecycle<Row, Item>
>

/** What the workloads of a kind are made of. */
export interface WorkloadParts<Row extends WorkloadRow, Item extends CommandWorkload> {
  readonly fleet: Fleet<Item>
  readonly records: Records<Row, Item>
  readonly lifecycle: Lifecycle<Row, Item>
}
