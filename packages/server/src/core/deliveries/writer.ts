import type { Clock } from "../../kernel/clock.ts"
import type { Logger } from "../../kernel/log.ts"
import type { BackgroundMeters } from "../meters/meters.ts"
import type { DispatchStore, Owed, Settlement } from "./dispatch-store.ts"
import type { Gate } from "./gate.ts"
import { type Lane, stateOf } from "./lane.ts"

const STATEMENT_MAX = 500

/** What became of a delivery, and is to be written. */
export interface Ended {
  readonly lane: Lane
  readonly owed: Owed
  readonly settlement: Settlement
  /** Once it is written. */
  readonly afterwards: (() => void) | undefined
}

interface WriterNeeds {
  readonly store: DispatchStore
  readonly clock: Clock
  readonly log: Logger
  readonly meters: BackgroundMeters
  /** Ordered deliveries are not loaded while others of them are settled. */
  readonly gate: Gate
  readonly written: (ended: readonly Ended[]) => void
}

/** Writes outcomes: those that come while a statement is under way share the next one. */
export const createWriter = ({ store, clock, log, meters, gate, written }: WriterNeeds) => {
  let waiting: Ended[] = []
  let inFlight: readonly Ended[] = []
  let flushing: Promise<void> | undefined
  let isPlanned = false

  const count = (ended: readonly Ended[], at: Date) => {
    const attempted = ended.filter(({ settlement }) => settlement.attempt !== null)
    for (const [key, group] of Map.groupBy(
      attempted,
      ({ lane, owed }) => `${lane.of.tenantId} ${owed.message?.projectId ?? ""}`,
    )) {
      const [organizationId = "", projectId] = key.split(" ")
      meters.count({
        organizationId,
        projectId: projectId || null,
        metric: "deliveries",
        quantity: group.length,
        at,
      })
    }
  }

  const settle = async (ended: readonly Ended[]) => {
    const now = new Date(clock.now())
    const lanes = [...new Set(ended.map(({ lane }) => lane))]
    const settled = await store.settle(
      now,
      ended.map(({ settlement }) => settlement),
      lanes.map(stateOf),
    )
    for (const { settlement } of ended) {
      if (!settled.has(settlement.id) && settlement.attempt) await store.settleLate(now, settlement)
    }
    count(ended, now)
  }

  const write = async () => {
    inFlight = waiting.splice(0, STATEMENT_MAX)
    const ended = inFlight
    const isOrdered = ended.some(({ owed }) => owed.orderingKey !== null)
    await (isOrdered ? gate(() => settle(ended)) : settle(ended))
    inFlight = []
    written(ended)
    for (const { afterwards } of ended) afterwards?.()
  }

  const flush = async () => {
    try {
      while (waiting.length > 0) await write()
    } catch (error) {
      // Written or not: what was is not owed as it was any more, and then nothing is written twice.
      waiting = [...inFlight, ...waiting]
      inFlight = []
      log.warn({ error: String(error) }, "outcomes of deliveries wait to be written")
    } finally {
      flushing = undefined
    }
  }

  const begin = async (): Promise<void> => {
    if (waiting.length > 0) flushing ??= flush()
    await flushing
  }

  return {
    add(ended: Ended): void {
      waiting.push(ended)
      if (flushing || isPlanned) return
      isPlanned = true
      setImmediate(() => {
        isPlanned = false
        void begin()
      })
    },
    /** Writes what waits; called again after a failure. */
    flush: begin,
    size: () => waiting.length + inFlight.length,
  }
}

export type Writer = ReturnType<typeof createWriter>
