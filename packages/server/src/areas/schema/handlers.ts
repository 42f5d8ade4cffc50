import {
  areas,
  PII_CONFIDENCE_DEFAULT,
  SCHEMA_COLUMNS_MAX,
  SCHEMA_SEARCH_LIMIT_DEFAULT,
  SCHEMA_TABLES_MAX,
} from "@svc/contract"
import type { Clock } from "../../kernel/clock.ts"
import { implement } from "../../kernel/implement.ts"
import type { Sessions } from "../../services/postgres/sessions.ts"
import type { Targets } from "../databases/offers.ts"
import { type Column, columnsOf, searchColumns } from "./columns.ts"
import { type Client, inspect, inspecting } from "./inspection.ts"
import { scanForPii } from "./pii/scan.ts"
import { inspectAtDepth, type Relation, relationsOf } from "./relations.ts"
import { type Relationship, relationshipsOf } from "./relationships.ts"
import { describeTable } from "./table-details.ts"
import { typesOf } from "./types.ts"

/** Rows of relationships and types in one reply. */
const PARTS_MAX = 20_000

/** At most `max` of the rows, and whether that left any out. */
const upTo = <Row>(rows: readonly Row[], max: number) => ({
  rows: rows.slice(0, max),
  truncated: rows.length > max,
})

const byTable = <Row>(rows: readonly Row[], tableOf: (row: Row) => string): ReadonlyMap<string, Row[]> => {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const table = tableOf(row)
    const group = groups.get(table)
    if (group) group.push(row)
    else groups.set(table, [row])
  }
  return groups
}

const pathOf = (schema: string, table: string): string => JSON.stringify([schema, table])

const isView = ({ type }: Relation): boolean => type === "view" || type === "materialized_view"

const tableWire = ({ is_updatable: _, ...table }: Relation, relationships: Relationship[]) => ({
  ...table,
  relationships,
})

const viewWire = ({ id, schema, name, type, comment, is_updatable }: Relation) => ({
  id,
  schema,
  name,
  type,
  comment,
  is_updatable,
})

interface SchemaFilter {
  readonly schema?: string
  readonly include_extensions?: boolean
  readonly include_partitions?: boolean
  readonly include_columns?: boolean
}

const readSchema = (client: Client, filter: SchemaFilter) =>
  inspectAtDepth(client, async depth => {
    const { schema, include_extensions: includeExtensions, include_partitions: includePartitions } = filter
    const relations = upTo(
      await relationsOf(
        client,
        { schema, includeExtensions, includePartitions, rowsMax: SCHEMA_TABLES_MAX },
        depth,
      ),
      SCHEMA_TABLES_MAX,
    )
    const withColumns = filter.include_columns ?? true
    const ids = relations.rows.map(({ id }) => id)
    const of = { ids, locking: depth === "locking", rowsMax: SCHEMA_COLUMNS_MAX }
    const columns = upTo<Column>(withColumns ? await columnsOf(client, of) : [], SCHEMA_COLUMNS_MAX)
    const keys = upTo(await relationshipsOf(client, { schema, rowsMax: PARTS_MAX }), PARTS_MAX)
    const types = upTo(await typesOf(client, { schema, includeExtensions, rowsMax: PARTS_MAX }), PARTS_MAX)

    const columnsByTable = byTable(columns.rows, ({ table_id }) => String(table_id))
    const columnsFor = ({ id }: Relation) =>
      withColumns ? { columns: columnsByTable.get(String(id)) ?? [] } : {}
    const from = byTable(keys.rows, key => pathOf(key.source_schema, key.source_table_name))
    const to = byTable(keys.rows, key => pathOf(key.target_table_schema, key.target_table_name))
    const keysOf = ({ schema, name }: Relation) => {
      const path = pathOf(schema, name)
      return [...new Set([...(from.get(path) ?? []), ...(to.get(path) ?? [])])]
    }
    return {
      tables: relations.rows
        .filter(relation => !isView(relation))
        .map(table => ({ ...tableWire(table, keysOf(table)), ...columnsFor(table) })),
      views: relations.rows.filter(isView).map(view => ({ ...viewWire(view), ...columnsFor(view) })),
      types: types.rows,
      truncated: [relations, columns, keys, types].some(({ truncated }) => truncated),
    }
  })

export const schemaHandlers = implement(
  areas.schema,
  ({ targets, sessions, clock }: { targets: Targets; sessions: Sessions; clock: Clock }) => ({
    async get(input, call) {
      return inspecting(sessions, await targets.of(call, input), call.signal, client =>
        readSchema(client, input),
      )
    },

    async searchColumns(input, call) {
      const { q = "", schema, limit: rowsMax = SCHEMA_SEARCH_LIMIT_DEFAULT } = input
      const search = {
        term: q,
        schema,
        includeExtensions: input.include_extensions,
        includePartitions: input.include_partitions,
        rowsMax,
      }
      return inspecting(sessions, await targets.of(call, input), call.signal, client =>
        inspectAtDepth(client, async depth => {
          const found = await searchColumns(client, { ...search, locking: depth === "locking" })
          const { rows, truncated } = upTo(found, rowsMax)
          return { columns: rows, truncated }
        }),
      )
    },

    async pii(input, call) {
      const { schema, sample = true, min_confidence: confidenceMin = PII_CONFIDENCE_DEFAULT } = input
      return inspecting(sessions, await targets.of(call, input), call.signal, client =>
        scanForPii(client, { schema, sample, confidenceMin, clock, signal: call.signal }),
      )
    },

    async relationships(input, call) {
      return inspecting(sessions, await targets.of(call, input), call.signal, async client => {
        const { schema } = input
        const found = await inspect(client, () => relationshipsOf(client, { schema, rowsMax: PARTS_MAX }))
        const { rows, truncated } = upTo(found, PARTS_MAX)
        return { relationships: rows, truncated }
      })
    },

    async table({ name, schema, ...named }, call) {
      return inspecting(sessions, await targets.of(call, named), call.signal, client =>
        inspectAtDepth(client, depth => describeTable(client, { name, schema }, depth)),
      )
    },
  }),
)
