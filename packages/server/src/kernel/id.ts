import { randomInt, randomUUID } from "node:crypto"

/** Where the variant and the random rest of a UUID begin. */
const REST = "00000000-0000-0000-".length
const COUNTER_MASK = 0xfff

const RECENT_MAX = 1_000

/** The last counter of each of the latest milliseconds: the times that callers bring need not be in order. */
const recent = new Map<number, number>()

const nextCounter = (now: number): number => {
  const last = recent.get(now)
  // Starting in the lower half leaves room to count up.
  const counter = last === undefined ? randomInt(COUNTER_MASK >> 1) : (last + 1) & COUNTER_MASK
  recent.delete(now)
  recent.set(now, counter)
  if (recent.size > RECENT_MAX) recent.delete(recent.keys().next().value ?? now)
  return counter
}

/**
 * UUID version 7 (RFC 9562, 5.7): sorts by the millisecond of its making. Those that this process makes one after the
 * other for one millisecond sort in that order too (6.2, method 1), so that "the oldest" is never a matter of chance.
 */
export const newId = (now: number = Date.now()): string => {
  const counter = nextCounter(now)
  const time = now.toString(16).padStart(12, "0")
  const order = counter.toString(16).padStart(3, "0")
  return `${time.slice(0, 8)}-${time.slice(8)}-7${order}-${randomUUID().slice(REST)}`
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export const isUuid = (text: string): boolean => UUID.test(text)
