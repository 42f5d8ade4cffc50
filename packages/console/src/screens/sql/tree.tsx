/** Schemas, tables and columns of a database. */
import { useMemo, useState } from "react"
import { Problem } from "../../ui/problem.tsx"
import { quoteName } from "./statements.ts"

export interface SchemaColumn {
  readonly name: string
  readonly full_type: string
  readonly is_nullable: boolean
}

export interface SchemaTable {
  readonly schema: string
  readonly name: string
  readonly type: string
  readonly columns?: readonly SchemaColumn[]
  readonly primary_keys?: readonly { readonly name: string }[]
  readonly live_rows_estimate?: number
}

export const nameOf = ({ schema, name }: Pick<SchemaTable, "schema" | "name">): string =>
  schema === "public" ? quoteName(name) : `${quoteName(schema)}.${quoteName(name)}`

const FILTER_FROM = 12

const Table = ({
  table,
  onInsert,
  onOpen,
}: {
  readonly table: SchemaTable
  readonly onInsert: (text: string) => void
  readonly onOpen: (table: SchemaTable) => void
}) => {
  const keys = new Set(table.primary_keys?.map(({ name }) => name))
  return (
    <details>
      <summary>
        {table.schema === "public" ? table.name : `${table.schema}.${table.name}`}
        {table.type !== "table" && <span className="soft small"> {table.type.replaceAll("_", " ")}</span>}
      </summary>
      <ul>
        <li>
          <button type="button" className="link small" onClick={() => onOpen(table)}>
            Show rows
          </button>
        </li>
        {(table.columns ?? []).map(({ name, full_type, is_nullable }) => (
          <li key={name}>
            <button
              type="button"
              className="link"
              title={`Put ${name} into the statement`}
              onClick={() => onInsert(quoteName(name))}
            >
              {name}
            </button>
            <span className="soft small">
              {full_type}
              {keys.has(name) ? " · key" : is_nullable ? "" : " · not null"}
            </span>
          </li>
        ))}
      </ul>
    </details>
  )
}

export const Tree = ({
  tables,
  error,
  ...does
}: {
  readonly tables: readonly SchemaTable[] | undefined
  readonly error: unknown
  readonly onInsert: (text: string) => void
  readonly onOpen: (table: SchemaTable) => void
}) => {
  const [filter, setFilter] = useState("")
  const shown = useMemo(
    () =>
      (tables ?? []).filter(({ schema, name }) =>
        `${schema}.${name}`.toLowerCase().includes(filter.toLowerCase()),
      ),
    [tables, filter],
  )
  return (
    <section className="tree" aria-label="Tables">
      <h2>Tables</h2>
      {(tables?.length ?? 0) >= FILTER_FROM && (
        <input
          type="search"
          aria-label="Filter the tables"
          placeholder="Filter"
          value={filter}
          onChange={event => setFilter(event.target.value)}
        />
      )}
      <Problem error={error} />
      {tables === undefined && !error && <p className="soft">Loading …</p>}
      {tables?.length === 0 && <p className="soft small">No table yet.</p>}
      {shown.map(table => (
        <Table key={`${table.schema}.${table.name}`} table={table} {...does} />
      ))}
    </section>
  )
}
