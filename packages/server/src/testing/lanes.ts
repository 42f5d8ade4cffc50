/** The loops over the contract go through several operations side by side: most of their time is waiting. */
import type { Operation } from "@svc/contract"

/** Each input of these may start a database server. Two that start at once only make each other late. */
const AREAS_WITH_SERVERS: ReadonlySet<string> = new Set(["databases", "sql", "schema", "advice", "functions"])
const OTHER_LANES = 3

export const LANES_MAX = 1 + OTHER_LANES

export const startsServers = ({ area }: Operation): boolean => AREAS_WITH_SERVERS.has(area)

/** One lane for all that may start database servers; the others are dealt out. */
export const lanesOf = <Item>(
  items: readonly Item[],
  operationOf: (item: Item) => Operation,
): readonly (readonly Item[])[] => {
  const others = items.filter(item => !startsServers(operationOf(item)))
  return [
    items.filter(item => startsServers(operationOf(item))),
    ...Array.from({ length: OTHER_LANES }, (_, lane) => others.filter((_, at) => at % OTHER_LANES === lane)),
  ]
}
