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
/** Of the shortest ways, which can be very many in a dense schema. */
const WAYS_MAX = 64

interface Graph {
  readonly steps: readonly (readonly Step[])[]
  readonly distances: Map<number, Uint8Array>
  readonly paths: Map<string, Path | undefined>
}

const graphs = new WeakMap<Catalog, Graph>()

/** Every way is asked for again and again while a question is read, and a catalog never changes. */
const graphOf = (catalog: Catalog): Graph => {
  const known = graphs.get(catalog)
  if (known) return known
  const steps: Step[][] = catalog.tables.map(() => [])
  for (const key of catalog.keys) {
    steps[key.from]?.push({ key, forward: true })
    if (key.to !== key.from) steps[key.to]?.push({ key, forward: false })
  }
  const graph: Graph = { steps, distances: new Map(), paths: new Map() }
  graphs.set(catalog, graph)
  return graph
}

/** Steps from one table to each, at most one more than the limit. Keys can be walked both ways, so it is also back. */
const distancesFrom = (catalog: Catalog, from: number): Uint8Array => {
  const { steps, distances } = graphOf(catalog)
  const known = distances.get(from)
  if (known) return known
  const found = new Uint8Array(catalog.tables.length).fill(STEPS_MAX + 1)
  distances.set(from, found)
  found[from] = 0
  let edge = [from]
  for (let length = 1; length <= STEPS_MAX && edge.length > 0; length++) {
    const next: number[] = []
    for (const end of edge.flatMap(table => (steps[table] ?? []).map(endOf))) {
      if ((found[end] ?? 0) <= length) continue
      found[end] = length
      next.push(end)
    }
    edge = next
  }
  return found
}

export const distance = (catalog: Catalog, from: number, to: number): number =>
  distancesFrom(catalog, to)[from] ?? STEPS_MAX + 1

/** Of ways of one length, the one with the fewest turns to many rows, then the key whose name fits its target best. */
const costOf = (catalog: Catalog, steps: readonly Step[]): number =>
  steps.reduce((sum, { key, forward }, index) => {
    const target = catalog.tables[key.to]?.name.replace(/s$/, "") ?? ""
    const named = key.columns.some(column => column.startsWith(target))
    // Two rows that only share a parent have less to do with each other than two that a third row links.
    const sibling = !forward && steps[index - 1]?.forward === true
    return sum + (forward ? 0 : 2) + (named ? 0 : 1) + (sibling ? 2 : 0)
  }, 0)

const findPath = (catalog: Catalog, from: number, to: number): Path | undefined => {
  const { steps } = graphOf(catalog)
  const left = distancesFrom(catalog, to)
  const length = left[from] ?? STEPS_MAX + 1
  if (length > STEPS_MAX) return undefined
  let ways: Step[][] = [[]]
  for (let rest = length - 1; rest >= 0; rest--) {
    const longer = ways.flatMap(way => {
      const last = way.at(-1)
      const closer = (steps[last ? endOf(last) : from] ?? []).filter(step => left[endOf(step)] === rest)
      return closer.map(step => [...way, step])
    })
    ways = longer.slice(0, WAYS_MAX)
  }
  const [best, second] = ways
    .map(way => ({ way, cost: costOf(catalog, way) }))
    .sort((a, b) => a.cost - b.cost)
  return best && { steps: best.way, ambiguous: second?.cost === best.cost }
}

/** The shortest way; undefined when there is none that is short enough to mean anything. */
export const pathBetween = (catalog: Catalog, from: number, to: number): Path | undefined => {
  const { paths } = graphOf(catalog)
  const name = `${from} ${to}`
  if (!paths.has(name)) paths.set(name, findPath(catalog, from, to))
  return paths.get(name)
}
