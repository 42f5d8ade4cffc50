import { setTimeout as delay } from "node:timers/promises"

const WAIT_MS_MAX = 60_000
const EVERY_MS = 25

/** What `look` gives, once it gives something. */
export const until = async <Result>(look: () => Promise<Result | undefined>): Promise<Result> => {
  const endMs = performance.now() + WAIT_MS_MAX
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > endMs) throw new Error("it did not come about")
    await delay(EVERY_MS)
  }
}
