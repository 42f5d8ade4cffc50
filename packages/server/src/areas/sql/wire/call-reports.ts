/** Hands calls on in batches that are bounded, whatever the clients do. */
import type { WireCall } from "./messages.ts"

const FLUSH_EVERY_MS = 250
const CALLS_MAX = 500
/** Room that ordinary calls leave to those which failed or took long. */
const NOTABLE_MAX = 500
const NOTABLE_MS = 50
const CHARACTERS_MAX = 1024 * 1024

export interface CallReports extends Disposable {
  add(call: WireCall): void
}

/** `send` resolves when the other side has the batch; until then the next one grows, and past its bounds misses calls. */
export const createCallReports = (
  send: (calls: readonly WireCall[], missed: number) => Promise<void>,
): CallReports => {
  let calls: WireCall[] = []
  let characters = 0
  let missed = 0
  let sending = false

  const flush = async () => {
    if (sending || (calls.length === 0 && missed === 0)) return
    sending = true
    const sent = send(calls, missed)
    calls = []
    characters = 0
    missed = 0
    await sent
    sending = false
  }
  const timer = setInterval(flush, FLUSH_EVERY_MS)
  timer.unref()

  return {
    add(call) {
      const notable = call.sqlstate !== null || call.durationMs >= NOTABLE_MS
      const full = calls.length >= (notable ? CALLS_MAX + NOTABLE_MAX : CALLS_MAX)
      if (full || characters + call.sql.length > CHARACTERS_MAX) {
        missed += 1
        return
      }
      calls.push(call)
      characters += call.sql.length
    },
    [Symbol.dispose]() {
      clearInterval(timer)
      void flush()
    },
  }
}
