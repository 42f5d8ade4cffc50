/**
 * How long a client may take over a message that passes in parts while a server connection is lent to it for nothing
 * else. Whoever sends slower than that for longer is taken for one that stalls.
 */
const GRACE_MS = 15_000
const BYTES_PER_SECOND_MIN = 64 * 1024

export class Pace {
  #sinceMs: number | undefined
  #bytes = 0

  arrived(bytes: number): void {
    if (this.#sinceMs !== undefined) this.#bytes += bytes
  }

  /** Asked again and again; true when the client, which owes the rest of a message, is too slow. */
  isTooSlow(owesRest: boolean, nowMs: number): boolean {
    if (!owesRest) {
      this.#sinceMs = undefined
      return false
    }
    if (this.#sinceMs === undefined) {
      this.#sinceMs = nowMs
      this.#bytes = 0
    }
    return nowMs - this.#sinceMs > GRACE_MS + (this.#bytes / BYTES_PER_SECOND_MIN) * 1_000
  }
}
