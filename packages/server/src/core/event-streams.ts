/** Replies that go on for as long as something happens: server-sent events. */

import { Readable } from "node:stream"
import type { Call } from "../kernel/call.ts"
import { every } from "../kernel/every.ts"
import { fault } from "../kernel/fault.ts"
import { createStanding, type StandingNeeds } from "./standing.ts"

/** Below the half minute after which some proxies drop a silent connection. */
const HEARTBEAT_MS = 15_000

/** `data` must have no line breaks, as JSON has none. */
export const eventText = (name: string, data: string, id?: string | number): string =>
  `${id === undefined ? "" : `id: ${id}\n`}event: ${name}\ndata: ${data}\n\n`

/** One stream, as what writes it sees it. */
export interface Watch {
  /** Aborts when the caller hangs up or may no longer look, when its time is over and when the platform stops. */
  readonly signal: AbortSignal
  /** There may be something new. */
  wake(): void
  /** Waits until it is woken, for so long at most, and says now and then that the stream lives. */
  pause(msMax?: number): AsyncGenerator<string>
}

export interface EventStreamsNeeds extends StandingNeeds {
  /** Aborts when the platform begins to stop. */
  readonly stopping: AbortSignal
}

export interface EventStreamsBounds {
  /** Streams of one group in this process. */
  readonly groupMax: number
  readonly totalMax?: number
  readonly lastsMsMax?: number
}

export interface EventStreams extends Disposable {
  /** Throws `rate_limited` where the group has too many. */
  open(call: Call, group: string, write: (watch: Watch) => AsyncGenerator<string>): Readable
}

/** What is asked of a stream while it waits. */
const createWatch = (
  call: Call,
  { clock, stopping }: EventStreamsNeeds,
  lastsMsMax: number,
  mayLook: () => Promise<boolean>,
) => {
  const over = new AbortController()
  const signal = AbortSignal.any([call.signal, stopping, over.signal])
  const endMs = clock.now() + lastsMsMax
  let isAwake = false
  let isBeat = false
  let wakeUp: (() => void) | undefined

  const wake = () => {
    isAwake = true
    wakeUp?.()
  }
  signal.addEventListener("abort", wake)

  /** A notification without a waiting reader ends the next wait at once. */
  const sleep = async (msMax: number | undefined) => {
    if (!isAwake) {
      await new Promise<void>(resolve => {
        const timer = msMax === undefined ? undefined : setTimeout(resolve, msMax).unref()
        wakeUp = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
    isAwake = false
  }

  const watch: Watch = {
    signal,
    wake,
    async *pause(msMax) {
      await sleep(msMax)
      if (clock.now() >= endMs) return over.abort()
      if (!isBeat) return
      isBeat = false
      if (await mayLook()) yield ": \n\n"
      else over.abort()
    },
  }
  const beat = () => {
    isBeat = true
    wake()
  }
  return { watch, beat, end: () => over.abort() }
}

export const createEventStreams = (
  needs: EventStreamsNeeds,
  {
    groupMax,
    totalMax = Number.POSITIVE_INFINITY,
    lastsMsMax = Number.POSITIVE_INFINITY,
  }: EventStreamsBounds,
): EventStreams => {
  const mayLook = createStanding(needs)
  const groups = new Map<string, number>()
  const beats = new Set<() => void>()
  const ticker = every(needs.clock, HEARTBEAT_MS, () => {
    for (const beat of beats) beat()
  })

  const count = (group: string, change: number) => {
    const left = (groups.get(group) ?? 0) + change
    if (left === 0) groups.delete(group)
    else groups.set(group, left)
  }

  return {
    open(call, group, write) {
      if ((groups.get(group) ?? 0) >= groupMax || beats.size >= totalMax) throw fault("rate_limited")
      const { principal, organization } = call
      const { watch, beat, end } = createWatch(call, needs, lastsMsMax, () =>
        mayLook(principal, organization.id),
      )
      const stream = Readable.from(write(watch), { objectMode: false })
      count(group, 1)
      beats.add(beat)
      // Not in the generator: a caller that hangs up at once leaves it unstarted.
      stream.once("close", () => {
        count(group, -1)
        beats.delete(beat)
        end()
      })
      call.setHeader("content-type", "text/event-stream; charset=utf-8")
      call.setHeader("cache-control", "no-cache, no-transform")
      // nginx collects answers otherwise.
      call.setHeader("x-accel-buffering", "no")
      return stream
    },
    [Symbol.dispose]: () => ticker[Symbol.dispose](),
  }
}

/** The number of the last event that a client saw; undefined when it says nothing usable. */
export const lastEventNumber = (call: Call): number | undefined => {
  const text = call.header("last-event-id")
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined
}
