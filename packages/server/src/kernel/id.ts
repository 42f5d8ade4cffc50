import { randomInt, randomUUID } from "node:crypto"

/** Where the variant and the random rest of a UUID begin. */
const REST = "00000000-0000-0000-".length
const COUNTER_MASK = 0xfff

let lastMs = -1
let counter = 0

/**
 * UUID version 7 (RFC 9562, 5.7): sorts by the millisecond of its making. Those that this process makes one after the
 * other within a millisecond sort in that order too (6.2, method 1), so that "the oldest" is never a matter of chance.
 */
export const newId = (now: number = Date.now()): string => {
  // Starting in the lower half leaves room to count up.
  counter = now === lastMs ? (counter + 1) & COUNTER_MASK : randomInt(COUNTER_MASK >> 1)
  lastMs = now
  const time = now.toString(16).padStart(12, "0")
  const order = counter.toString(16).padStart(3, "0")
  return `${time.slice(0, 8)}-${time.slice(8)}-7${order}-${randomUUID().slice(REST)}`
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export const isUuid = (text: string): boolean => UUID.test(text)
