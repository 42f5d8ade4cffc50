import { randomFillSync } from "node:crypto"

/** Random bytes are drawn for many ids at once: one system call per 256 ids instead of one each. */
const POOL_BYTES = 10 * 256
const pool = new Uint8Array(POOL_BYTES)
let used = POOL_BYTES

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))
const byteHex = (byte: number | undefined): string => hex[(byte ?? 0) & 0xff] as string

/** UUID version 7 (RFC 9562, 5.7): sorts by the millisecond of its making, random beyond that. */
export const newId = (now: number = Date.now()): string => {
  if (used === POOL_BYTES) {
    randomFillSync(pool)
    used = 0
  }
  const at = used
  used += 10
  const time = now.toString(16).padStart(12, "0")
  return `${time.slice(0, 8)}-${time.slice(8)}-${byteHex(((pool[at] ?? 0) & 0x0f) | 0x70)}${byteHex(pool[at + 1])}-${byteHex(
    ((pool[at + 2] ?? 0) & 0x3f) | 0x80,
  )}${byteHex(pool[at + 3])}-${byteHex(pool[at + 4])}${byteHex(pool[at + 5])}${byteHex(pool[at + 6])}${byteHex(
    pool[at + 7],
  )}${byteHex(pool[at + 8])}${byteHex(pool[at + 9])}`
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export const isUuid = (text: string): boolean => UUID.test(text)
