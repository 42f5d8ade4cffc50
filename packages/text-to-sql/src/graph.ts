/** Paths between tables along foreign keys. */
import type { Catalog, ForeignKey } from "./catalog.ts"
import { partsOf, singularOf } from "./words.ts"

export interface Step {
  readonly key: ForeignKey
  /** Along the key, to the one row it names; else against it, to the many rows that name this one. */
  readonly forward: boolean
}

export interface Path {
  readonly steps: readonly Step[]
  /** Another path is as likely to be meant. */
  readonly ambiguous: boolean
}

export const endOf = ({ key, forward }: Step): number => (forward ? key.to : key.from)
export const isToOne = (steps: readonly Step[]): boolean => steps.every(({ forward }) => forward)

/** Farther apart, two tables have nothing to do with each other as far as a question goes. */
const STEPS_MAX = 4
/** The shortest paths can be very many in a dense schema. */
const PATHS_MAX = 64

interface Graph {
  readonly steps: readonly (readonly Step[])[]
  readonly distances: Map<number, Uint8Array>
  readonly paths: Map<string, Path | undefined>
}

const graphs = new WeakMap<Catalog, Graph>()

/** Paths are looked up many times while a question is read, and a catalog never changes. */
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

/** True for `customer_id`, which just names its target; false for `billing_address_id` or `manager_id`, which name a role. */
const isPlain = (catalog: Catalog, { columns, targets, to }: ForeignKey): boolean => {
  const [column = "", target = ""] = [columns[0], targets[0]]
  if (columns.length > 1 || column.toLowerCase() === target.toLowerCase()) {
    const { primaryKey = [] } = catalog.tables[to] ?? {}
    return column.toLowerCase() !== "id" && primaryKey.includes(target)
  }
  const words = partsOf(column).filter(part => !/^(?:id|fk|code|key|no)$/.test(part))
  const name = partsOf(catalog.tables[to]?.name ?? "")
  return words.length > 0 && keyOf(words) === keyOf(name.slice(-words.length))
}

const keyOf = (words: readonly string[]): string => words.map(singularOf).join(" ")

/** Two rows that only share a parent have less to do with each other than two that a third row links. */
const isSibling = (steps: readonly Step[]): boolean =>
  steps.some(({ forward }, index) => !forward && steps[index - 1]?.forward === true)

/** All paths of that many steps that visit no table twice. */
const pathsOfLength = (catalog: Catalog, from: number, to: number, length: number): Step[][] => {
  const { steps } = graphOf(catalog)
  const left = distancesFrom(catalog, to)
  let paths: Step[][] = [[]]
  for (let rest = length - 1; rest >= 0; rest--) {
    const longer = paths.flatMap(path => {
      const last = path.at(-1)
      const visited = [from, ...path.map(endOf)]
      return (steps[last ? endOf(last) : from] ?? [])
        .filter(step => (left[endOf(step)] ?? 9) <= rest && (rest === 0 || !visited.includes(endOf(step))))
        .map(step => [...path, step])
    })
    paths = longer.slice(0, PATHS_MAX)
  }
  const direct = paths.filter(path => !isSibling(path))
  return direct.length > 0 ? direct : paths
}

/** Exactly one path of plain keys is what a question means. Any other choice among paths is a guess. */
const findPath = (catalog: Catalog, from: number, to: number): Path | undefined => {
  const length = distance(catalog, from, to)
  if (length > STEPS_MAX) return undefined
  const paths = pathsOfLength(catalog, from, to, length)
  const ofPlainKeys = (path: Step[]) => path.every(({ key }) => isPlain(catalog, key))
  const plain = paths.filter(ofPlainKeys)
  const best = plain[0] ?? paths.toSorted((a, b) => Number(isToOne(b)) - Number(isToOne(a)))[0]
  const detour = plain.length === 0 && length === 1 ? pathsOfLength(catalog, from, to, 2) : []
  const isDetour = detour.some(path => ofPlainKeys(path) && !isSibling(path))
  return (
    best && {
      steps: best,
      ambiguous: plain.length > 1 || (plain.length === 0 && paths.length > 1) || isDetour,
    }
  )
}

/** The shortest path; undefined when there is none that is short enough to mean anything. */
export const pathBetween = (catalog: Catalog, from: number, to: number): Path | undefined => {
  const { paths } = graphOf(catalog)
  const name = `${from} ${to}`
  if (!paths.has(name)) paths.set(name, findPath(catalog, from, to))
  return paths.get(name)
}
