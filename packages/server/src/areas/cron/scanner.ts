import type { Clock } from "../../kernel/clock.ts"
import { at, every } from "../../kernel/every.ts"
import { type ClaimNeeds, claimDue } from "./claim.ts"

/** What another process planned is found by then at the latest. Costs one probe of an index. */
const LOOK_EVERY_MS = 5_000
/** What is due and locked: another process deals with it, or somebody changes it. */
const LOCKED_WAIT_MS = 25
/** Schedules that one look has no end with are interrupted here, so that nothing else starves. */
const ROUNDS_MAX = 1_000

export interface CronScanner extends AsyncDisposable {
  /** Looks at this time, if nothing makes it look before. */
  expect(atMs: number): void
}

/** Wakes exactly when the next schedule is due, and makes executions of all that are. */
export const createCronScanner = (needs: ClaimNeeds & { readonly clock: Clock }): CronScanner => {
  const { database, clock, log } = needs
  let timer: Disposable | undefined
  let timerMs = Number.POSITIVE_INFINITY
  let scanning: Promise<void> | undefined
  let isStale = false
  let closed = false

  const disarm = () => {
    timer?.[Symbol.dispose]()
    timer = undefined
    timerMs = Number.POSITIVE_INFINITY
  }

  const arm = (atMs: number) => {
    if (closed || atMs >= timerMs || atMs > clock.now() + LOOK_EVERY_MS) return
    disarm()
    timerMs = atMs
    timer = at(clock, atMs, () => {
      disarm()
      return look()
    })
  }

  const nearest = async (): Promise<number | undefined> => {
    const row = await database.db
      .selectFrom("cron.schedules")
      .select("due_at")
      .where("due_at", "is not", null)
      .orderBy("due_at")
      .limit(1)
      .executeTakeFirst()
    return row?.due_at?.getTime()
  }

  const scan = async () => {
    let dueMs = await nearest()
    for (let round = 0; round < ROUNDS_MAX && !closed; round++) {
      if (dueMs === undefined || dueMs > clock.now()) break
      const { isFull } = await claimDue(needs, clock.now())
      dueMs = await nearest()
      if (!isFull) break
    }
    if (dueMs !== undefined) arm(Math.max(dueMs, clock.now() + (dueMs <= clock.now() ? LOCKED_WAIT_MS : 0)))
  }

  const scanAll = async () => {
    try {
      do {
        isStale = false
        await scan()
      } while (isStale && !closed)
    } catch (error) {
      if (!closed) log.warn({ error: String(error) }, "polling for due cron schedules failed; will retry")
    } finally {
      scanning = undefined
    }
  }

  const look = async () => {
    if (closed) return
    isStale = scanning !== undefined
    scanning ??= scanAll()
    await scanning
  }

  const rounds = every(clock, LOOK_EVERY_MS, look)
  void look()

  return {
    expect: arm,
    async [Symbol.asyncDispose]() {
      closed = true
      disarm()
      await rounds[Symbol.asyncDispose]()
      await scanning
    },
  }
}
