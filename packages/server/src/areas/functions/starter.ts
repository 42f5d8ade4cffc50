import type { Clock } from "../../kernel/clock.ts"
import { isFault } from "../../kernel/fault.ts"
import { crash, type WorkloadNeeds } from "../../services/serving/workload.ts"
import { type Harness, type Shape, startHarness } from "./harness.ts"

/** Starts harnesses, and keeps one of each language ready while there is demand. */
export interface Starter extends AsyncDisposable {
  /** A spare one takes no other's place on the host. */
  start(shape: Shape, isSpare: boolean): Promise<Harness>
  /** Starts one that none that is kept ready could be. */
  startOwn(start: (needs: WorkloadNeeds) => Promise<Harness>): Promise<Harness>
  /** Ends those that nobody wanted for a while. */
  sweep(): void
  /** Gives up the place of one that is only kept ready; false when there is none. */
  giveUp(): boolean
}

/** How long one is kept ready after the last start of its language. */
const READY_KEPT_MS = 120_000

interface Ready {
  readonly shape: Shape
  readonly harness: Promise<Harness | undefined>
  /** Once it has started. */
  opened: Harness | undefined
  wantedMs: number
}

const isSame = (a: Shape, b: Shape): boolean =>
  a.language.name === b.language.name && a.memoryMb === b.memoryMb && a.vcpus === b.vcpus

export const createStarter = (needs: WorkloadNeeds & { readonly clock: Clock }): Starter => {
  const { clock, log } = needs
  const ready = new Map<string, Ready>()
  const living = new Set<Harness>()
  let isClosed = false

  const startOwn: Starter["startOwn"] = async start => {
    const harness = await start(needs)
    living.add(harness)
    harness.ended.then(() => living.delete(harness))
    if (isClosed) harness.end(crash("the server is shutting down"))
    return harness
  }
  const open = (shape: Shape, isSpare: boolean) => startOwn(() => startHarness(needs, shape, isSpare))

  const drop = (name: string) => {
    const one = ready.get(name)
    ready.delete(name)
    one?.harness.then(harness => harness?.end(crash("nobody needs it")))
  }

  /** Whether one is ready is nobody's business but its taker's. */
  const prepare = (shape: Shape) => {
    const { name } = shape.language
    const known = ready.get(name)
    if (known && isSame(known.shape, shape)) {
      known.wantedMs = clock.now()
      return
    }
    drop(name)
    const harness = open(shape, true).catch(error => {
      if (!isFault(error, "no_host_capacity"))
        log.warn({ err: error }, "prewarming a function runtime failed")
      return undefined
    })
    const one: Ready = { shape, harness, opened: undefined, wantedMs: clock.now() }
    ready.set(name, one)
    const forget = () => {
      if (ready.get(name) === one) ready.delete(name)
    }
    harness.then(opened => {
      one.opened = opened
      return opened ? opened.ended.then(forget) : forget()
    })
  }

  const take = async (shape: Shape): Promise<Harness | undefined> => {
    const one = ready.get(shape.language.name)
    if (!one || !isSame(one.shape, shape)) return undefined
    ready.delete(shape.language.name)
    return one.harness
  }

  return {
    startOwn,
    async start(shape, isSpare) {
      const harness = (await take(shape)) ?? (await open(shape, isSpare))
      if (!isClosed) prepare(shape)
      return harness
    },
    sweep() {
      for (const [name, { wantedMs }] of ready) if (clock.now() - wantedMs > READY_KEPT_MS) drop(name)
    },
    giveUp() {
      for (const [name, { opened }] of ready) {
        if (!opened) continue
        ready.delete(name)
        opened.giveUp()
        return true
      }
      return false
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      await Promise.all([...ready.values()].map(({ harness }) => harness))
      const all = [...living]
      for (const harness of all) harness.end(crash("the server is shutting down"))
      await Promise.all(all.map(({ ended }) => ended))
    },
  }
}
