/** Ways between tables along foreign keys. */
import type { Catalog, ForeignKey } from "./catalog.ts"

export interface Step {
  readonly key: ForeignKey
  /** Along the key, to the one row it names; else against it, to the many rows that name this one. */
  readonly forward: boolean
}

export interface Path {
  readonly steps: readonly Step[]
  /** Another way is as short. */
  readonly ambiguous: boolean
}

export const endOf = ({ key, forward }: Step): number => (forward ? key.to : key.from)
export const isToOne = (steps: readonly Step[]): boolean => steps.every(({ forward }) => forward)

/** Farther apart, two tables have nothing to do with each other as far as a question goes. */
const STEPS_MAX = 4

const stepsFrom = (catalog: Catalog, table: number): Step[] =>
  catalog.keys.flatMap(key => [
    ...(key.from === table ? [{ key, forward: true }] : []),
    ...(key.to === table && key.from !== table ? [{ key, forward: false }] : []),
  ])

/** Of ways of one length, the one with the fewest turns to many rows, then the key whose name fits its target best. */
const costOf = (catalog: Catalog, steps: readonly Step[]): number =>
  steps.reduce((sum, { key, forward }, index) => {
    const target = catalog.tables[key.to]?.name.replace(/s$/, "") ?? ""
    const named = key.columns.some(column => column.startsWith(target))
    // Two rows that only share a parent have less to do with each other than two that a third row links.
    const sibling = !forward && steps[index - 1]?.forward === true
    return sum + (forward ? 0 : 2) + (named ? 0 : 1) + (sibling ? 2 : 0)
  }, 0)

export const pathBetween = (catalog: Catalog, from: number, to: number): Path | undefined => {
  if (from === to) return { steps: [], ambiguous: false }
  let paths: Step[][] = [[]]
  const seen = new Set([from])
  for (let length = 1; length <= STEPS_MAX; length++) {
    const longer = paths.flatMap(path => {
      const last = path.at(-1)
      return stepsFrom(catalog, last ? endOf(last) : from)
        .filter(step => !seen.has(endOf(step)))
        .map(step => [...path, step])
    })
    const arrived = longer
      .filter(path => path.at(-1) && endOf(path.at(-1) as Step) === to)
      .map(steps => ({ steps, cost: costOf(catalog, steps) }))
      .sort((a, b) => a.cost - b.cost)
    const [best, second] = arrived
    if (best) return { steps: best.steps, ambiguous: second !== undefined && second.cost === best.cost }
    for (const path of longer) seen.add(endOf(path.at(-1) as Step))
    // Only the first ways matter, and a dense schema has very many.
    paths = longer.slice(0, 2000)
  }
  return undefined
}

export const distance = (catalog: Catalog, from: number, to: number): number =>
  pathBetween(catalog, from, to)?.steps.length ?? STEPS_MAX + 1
