import type { Clock } from "../../kernel/clock.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Database } from "../../kernel/db/database.ts"
import type { Logger } from "../../kernel/log.ts"
import { CHANGED_TOPIC } from "./claims.ts"
import type { DeliveryKind, DisabledReason } from "./deliveries.ts"
import type { PendingDelivery, Settlement } from "./dispatch-store.ts"
import type { EndpointQueue } from "./endpoint-queue.ts"
import { buryAll, forgetFailures, setWarned } from "./pending.ts"
import { findDelivery } from "./store.ts"

/** The attempt of a delivery with whose failure an endpoint's owner is warned. */
const WARNED_AT_ATTEMPT = 4

interface NoticesNeeds {
  readonly database: Database
  readonly changes: Changes
  readonly clock: Clock
  readonly log: Logger
  readonly kinds: ReadonlyMap<string, DeliveryKind>
}

/** Tells the areas how their endpoints are doing, once what it rests on is written. */
export const createNotices = ({ database, changes, clock, log, kinds }: NoticesNeeds) => {
  const disableQueue = async (queue: EndpointQueue, reason: DisabledReason) => {
    const { of } = queue
    await database.transaction(async tx => {
      await kinds.get(of.kind)?.disable(tx, of, reason)
      await buryAll(tx, new Date(clock.now()), of, "dead_lettered")
      await forgetFailures(tx, of)
      await changes.invalidate(tx, CHANGED_TOPIC, of.endpointId)
    })
    queue.isDisabling = false
  }

  const warn = ({ of }: EndpointQueue, { id }: PendingDelivery) =>
    database.transaction(async tx => {
      const delivery = await findDelivery(tx, of, id)
      if (delivery) await kinds.get(of.kind)?.failing?.(tx, of, delivery)
      await setWarned(tx, of, true)
    })

  const praise = ({ of }: EndpointQueue) =>
    database.transaction(async tx => {
      await kinds.get(of.kind)?.recovered?.(tx, of)
      await setWarned(tx, of, false)
    })

  const inBackground = (what: string, act: () => Promise<void>, undo: () => void) => () => {
    act().catch(err => {
      undo()
      log.error({ err }, what)
    })
  }

  return {
    /** What is to be told once the outcome is written. */
    after(
      queue: EndpointQueue,
      delivery: PendingDelivery,
      status: Settlement["status"],
      disable: DisabledReason | undefined,
    ): (() => void) | undefined {
      if (disable !== undefined) {
        if (queue.isDisabling) return undefined
        queue.isDisabling = true
        return inBackground(
          "an endpoint could not be switched off",
          () => disableQueue(queue, disable),
          () => {
            queue.isDisabling = false
          },
        )
      }
      if (status === "delivered") {
        if (!queue.isWarned) return undefined
        queue.isWarned = false
        return inBackground(
          "the notice of a recovery is lost",
          () => praise(queue),
          () => {
            queue.isWarned = true
          },
        )
      }
      if (queue.isWarned || delivery.attemptCount + 1 - delivery.attemptsFrom !== WARNED_AT_ATTEMPT)
        return undefined
      queue.isWarned = true
      return inBackground(
        "the notice of a failing endpoint is lost",
        () => warn(queue, delivery),
        () => {
          queue.isWarned = false
        },
      )
    },
  }
}

export type Notices = ReturnType<typeof createNotices>
