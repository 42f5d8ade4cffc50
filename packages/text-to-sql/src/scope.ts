/** One level of a statement: its tables under their aliases, and the joins between them. */
import type { Catalog, ForeignKey, Table } from "./catalog.ts"
import { endOf, isToOne, type Path, pathBetween, type Step } from "./graph.ts"
import { quoteIdentifier, tableSql } from "./identifiers.ts"
import type { Ref } from "./query.ts"

interface Joined {
  readonly table: number
  readonly alias: string
  readonly path: readonly Step[]
}

export interface JoinPath {
  readonly from: Joined
  readonly steps: readonly Step[]
}

export interface Scope {
  readonly base: number
  /** The alias of a table, joined if it is not yet. */
  reach(table: number, role?: ForeignKey, outer?: boolean): string
  /** Joins along steps and gives the last alias. */
  follow(way: JoinPath, outer?: boolean): string
  wayTo(table: number, role?: ForeignKey): JoinPath | undefined
  column(ref: Ref, outer?: boolean): string
  /** Whether a row of the table can come up more than once. */
  repeats(table: number): boolean
  /** Joins a subquery by its columns key_1, key_2, …, and gives its alias. */
  leftJoin(subquery: string, keys: readonly string[]): string
  from(): string
  /** A scope inside this one, with aliases of its own. */
  inner(base: number): Scope
  readonly ambiguities: string[]
}

const samePath = (a: readonly Step[], b: readonly Step[]): boolean =>
  a.length === b.length &&
  a.every((step, index) => step.key === b[index]?.key && step.forward === b[index]?.forward)

/** The shortest way from any table that is joined already; ways to one row before ways to many. */
const nearestWay = (
  catalog: Catalog,
  joined: readonly Joined[],
  table: number,
): (JoinPath & Path) | undefined => {
  const ways = joined.flatMap(from => {
    const path = pathBetween(catalog, from.table, table)
    return path ? [{ from, ...path }] : []
  })
  const shortest = (list: readonly (JoinPath & Path)[]) =>
    list.toSorted((a, b) => a.steps.length - b.steps.length)[0]
  return shortest(ways.filter(({ steps }) => isToOne(steps))) ?? shortest(ways)
}

/** A table that no foreign keys lead to. */
export class Unreachable extends Error {}

export const createScope = (
  catalog: Catalog,
  base: number,
  taken: Map<string, number> = new Map(),
  ambiguities: string[] = [],
): Scope => {
  const quote = (name: string) => quoteIdentifier(name, catalog.reserved)
  const tableAt = (index: number): Table => {
    const table = catalog.tables[index]
    if (!table) throw new Unreachable("no such table")
    return table
  }
  const nameFor = (table: number): string => {
    const { name } = tableAt(table)
    const count = (taken.get(name) ?? 0) + 1
    taken.set(name, count)
    return quote(count === 1 ? name : `${name}_${count}`)
  }
  const origin: Joined = { table: base, alias: nameFor(base), path: [] }
  const joined: Joined[] = [origin]
  const joins: string[] = []
  const named = (table: number, alias: string) => {
    const sql = tableSql(tableAt(table), catalog.reserved)
    return sql === alias ? sql : `${sql} AS ${alias}`
  }

  const stepTo = (from: Joined, step: Step, outer: boolean): Joined => {
    const path = [...from.path, step]
    const known = joined.find(each => samePath(each.path, path))
    if (known) return known
    const { columns, targets } = step.key
    const next: Joined = { table: endOf(step), alias: nameFor(endOf(step)), path }
    const on = columns.map((column, index) => {
      const [own, other] = step.forward ? [column, targets[index] ?? ""] : [targets[index] ?? "", column]
      return `${next.alias}.${quote(other)} = ${from.alias}.${quote(own)}`
    })
    const nullable = tableAt(step.key.from).columns.some(
      ({ name, notNull }) => columns.includes(name) && !notNull,
    )
    const kind = outer && (!step.forward || nullable) ? "LEFT JOIN" : "JOIN"
    joins.push(`${kind} ${named(next.table, next.alias)} ON ${on.join(" AND ")}`)
    joined.push(next)
    return next
  }

  const wayTo = (table: number, role?: ForeignKey): JoinPath | undefined => {
    if (role) {
      const way = wayTo(role.from)
      return way && { from: way.from, steps: [...way.steps, { key: role, forward: true }] }
    }
    const known = joined.find(each => each.table === table)
    if (known) return { from: known, steps: [] }
    const way = nearestWay(catalog, joined, table)
    if (way?.ambiguous) {
      const told = `there is more than one way from ${tableAt(way.from.table).name} to ${tableAt(table).name}`
      if (!ambiguities.includes(told)) ambiguities.push(told)
    }
    return way
  }

  const follow = (way: JoinPath, outer = false): string =>
    way.steps.reduce((from, step) => stepTo(from, step, outer), way.from).alias

  const reach = (table: number, role?: ForeignKey, outer = false): string => {
    const way = wayTo(table, role)
    if (!way)
      throw new Unreachable(
        `${tableAt(base).name} and ${tableAt(table).name} are not connected by foreign keys`,
      )
    return follow(way, outer)
  }

  return {
    base,
    ambiguities,
    reach,
    follow,
    wayTo,
    column: ({ table, column, role }, outer) => `${reach(table, role, outer)}.${quote(column.name)}`,
    repeats: table => {
      const own = joined.find(each => each.table === table)?.path ?? []
      const many = joined.filter(({ path }) => path.at(-1)?.forward === false)
      // Once it takes a step to one row, or another table multiplies the rows, the same row can come up again.
      return (
        own.some(({ forward }) => forward) ||
        many.some(({ path }) => !samePath(own.slice(0, path.length), path))
      )
    },
    leftJoin: (subquery, keys) => {
      const count = (taken.get("related") ?? 0) + 1
      taken.set("related", count)
      const alias = count === 1 ? "related" : `related_${count}`
      const on = keys.map((key, index) => `${alias}.key_${index + 1} = ${key}`)
      joins.push(`LEFT JOIN (${subquery}) AS ${alias} ON ${on.join(" AND ")}`)
      return alias
    },
    from: () => [`FROM ${named(base, origin.alias)}`, ...joins].join("\n"),
    inner: table => createScope(catalog, table, taken, ambiguities),
  }
}
