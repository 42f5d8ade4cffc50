/** Which backend a request goes to. Pure, but for the turns of round robin. */
import { createHash } from "node:crypto"

export interface Candidate {
  readonly id: string
  readonly weight: number
  readonly active: number
}

/** Turns in proportion to weights, spread evenly: of weights 5, 1, 1 it makes a a b a c a a (as nginx does). */
export const createTurns = () => {
  const current = new Map<string, number>()
  return {
    next<One extends Candidate>(candidates: readonly One[]): One | undefined {
      let total = 0
      let best: One | undefined
      let bestScore = Number.NEGATIVE_INFINITY
      for (const candidate of candidates) {
        total += candidate.weight
        const score = (current.get(candidate.id) ?? 0) + candidate.weight
        current.set(candidate.id, score)
        if (score > bestScore) {
          best = candidate
          bestScore = score
        }
      }
      if (best) current.set(best.id, bestScore - total)
      return best
    },
    forget: (id: string) => void current.delete(id),
  }
}

export type Turns = ReturnType<typeof createTurns>

/** The one with the fewest requests under way for its weight; among equals by turns. */
export const leastConnections = <One extends Candidate>(
  candidates: readonly One[],
  turns: Turns,
): One | undefined => {
  let least = Number.POSITIVE_INFINITY
  for (const { active, weight } of candidates) least = Math.min(least, active / weight)
  return turns.next(candidates.filter(({ active, weight }) => active / weight === least))
}

const SPAN = 2 ** 48

/** A number over 0 and below 1 that an address and a backend always have together. */
const shareOf = (address: string, id: string): number => {
  const digest = createHash("sha1").update(`${address} ${id}`).digest()
  return (digest.readUIntBE(0, 6) + 1) / (SPAN + 2)
}

/**
 * The same backend for the same address. When one comes or goes, only addresses that it gets or had change (rendezvous
 * hashing, by weight).
 */
export const byAddress = <One extends Candidate>(
  candidates: readonly One[],
  address: string,
): One | undefined => {
  let best: One | undefined
  let bestScore = Number.NEGATIVE_INFINITY
  for (const candidate of candidates) {
    const score = -candidate.weight / Math.log(shareOf(address, candidate.id))
    if (score > bestScore) {
      best = candidate
      bestScore = score
    }
  }
  return best
}
