/** One page of a listing: which range of keys to read, which of them to take, and when to stop. */
import { PortError } from "../port-error.ts"
import { KEY_BYTES_MAX, KEYS_MAX } from "./bounds.ts"
import { globMatcher, literalPrefix } from "./glob.ts"
import type { KvListing, KvPage } from "./port.ts"

/** Keys that one page looks at, however few of them match. */
const SCANNED_MAX = 10_000
/** Steps of the matcher for one page; about a tenth of a second of them, however mean the pattern. */
const STEPS_MAX = 20_000_000

export interface Listing {
  /** First key to look at, in bytes, whether or not it exists. */
  readonly from: Buffer
  /** First key no longer to look at. */
  readonly below: Buffer
  /** Takes the next key of the range. False means that the page is complete and nothing more is wanted. */
  take(key: string, isLive: boolean): boolean
  /** The page: of what was taken until `take` said false, or else until the range ended. */
  page(): KvPage
}

/**
 * The cursor is the last key looked at and never names an owner: whatever it says, the range stays the
 * owner's.
 */
const readCursor = (cursor: string): Buffer => {
  const last = Buffer.from(cursor, "base64url")
  if (last.length > KEY_BYTES_MAX || last.toString("base64url") !== cursor) {
    throw new PortError("refused", "this cursor is not one of ours")
  }
  return last
}

export const startListing = ({ pattern, limit, cursor }: KvListing): Listing => {
  if (Buffer.byteLength(pattern) > KEY_BYTES_MAX || !pattern.isWellFormed()) {
    throw new PortError("refused", `a pattern is Unicode of at most ${KEY_BYTES_MAX} bytes`)
  }
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= KEYS_MAX)) {
    throw new PortError("refused", `a page has 1 to ${KEYS_MAX} keys`)
  }
  const prefix = Buffer.from(literalPrefix(pattern))
  const after = cursor === null ? Buffer.alloc(0) : Buffer.concat([readCursor(cursor), Buffer.of(0)])
  const matches = globMatcher(pattern)
  const keys: string[] = []
  let scanned = 0
  let steps = 0
  let stoppedAt: string | null = null

  return {
    from: Buffer.compare(prefix, after) > 0 ? prefix : after,
    // No UTF-8 holds the byte 255, so this is above every key with the prefix and below every other one.
    below: Buffer.concat([prefix, Buffer.of(255)]),
    take(key, isLive) {
      if (isLive && matches(key)) keys.push(key)
      scanned += 1
      steps += key.length * pattern.length
      const isComplete = keys.length === limit || scanned === SCANNED_MAX || steps >= STEPS_MAX
      if (isComplete) stoppedAt = key
      return !isComplete
    },
    page: () => ({ keys, cursor: stoppedAt === null ? null : Buffer.from(stoppedAt).toString("base64url") }),
  }
}
