import { setTimeout as delay } from "node:timers/promises"

/** As long as a machine that is very busy may need. */
const WAIT_MS_MAX = 180_000
const PAUSE_MS_MAX = 50

/**
 * Looks again and again for what has no event to wait for, until it is there: truthy, or what `holds` accepts. `what`
 * says in the failure what never came true.
 */
export async function eventually<Found>(
  what: string,
  look: () => Found | Promise<Found>,
): Promise<Exclude<Found, false | null | undefined>>
export async function eventually<Found>(
  what: string,
  look: () => Found | Promise<Found>,
  holds: (found: Found) => boolean,
): Promise<Found>
export async function eventually<Found>(
  what: string,
  look: () => Found | Promise<Found>,
  holds: (found: Found) => boolean = Boolean,
): Promise<Found> {
  const deadline = performance.now() + WAIT_MS_MAX
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 1.2, PAUSE_MS_MAX)) {
    const found = await look()
    if (holds(found)) return found
    if (performance.now() > deadline) throw new Error(`never came true: ${what}`)
    await delay(pauseMs)
  }
}
