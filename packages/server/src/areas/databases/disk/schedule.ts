import type { Clock } from "../../../kernel/clock.ts"
import type { EnginePort, Lsn } from "../../../ports/engine/port.ts"
import type { Compute } from "../compute.ts"

/** After so much log a volume is measured at once: what it grew by is in there. */
const LOG_BYTES_MAX = 16 * 1024 ** 2
/** A volume in use is measured this often at the least; what is not logged (temporary files) shows then. */
const MEASURED_EVERY_MS = 15_000

interface LastMeasurement {
  readonly lsn: Lsn | null
  readonly atMs: number
}

/** `16/B374D848` as a number of bytes. */
const bytesOf = (lsn: Lsn): bigint => {
  const [high = "0", low = "0"] = lsn.split("/")
  return (BigInt(`0x${high}`) << 32n) + BigInt(`0x${low}`)
}

const grown = (from: Lsn | null, to: Lsn | null): number =>
  from === null || to === null ? 0 : Number(bytesOf(to) - bytesOf(from))

/** Says which awake volumes have to be measured: in memory, without asking any of them. */
export const createSchedule = (needs: { engine: EnginePort; compute: Compute; clock: Clock }) => {
  const { engine, compute, clock } = needs
  const seen = new Map<string, LastMeasurement>()

  const isDue = (id: string, lsn: Lsn | null): boolean => {
    const before = seen.get(id)
    if (!before) return true
    const bytes = grown(before.lsn, lsn)
    if (bytes >= LOG_BYTES_MAX) return true
    const isLate = clock.now() - before.atMs >= MEASURED_EVERY_MS
    return isLate && (bytes > 0 || compute.isUsed(id, MEASURED_EVERY_MS))
  }

  return {
    due(): readonly string[] {
      const awake = engine.running().filter(({ state }) => state === "active")
      const ids = new Set(awake.map(({ id }) => id))
      for (const id of seen.keys()) if (!ids.has(id)) seen.delete(id)
      const due = awake.filter(({ id, loggedLsn }) => isDue(id, loggedLsn))
      for (const { id, loggedLsn } of due) seen.set(id, { lsn: loggedLsn, atMs: clock.now() })
      return due.map(({ id }) => id)
    },
  }
}
