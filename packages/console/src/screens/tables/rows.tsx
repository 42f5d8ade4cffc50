/** The rows as a grid: heads sort, keys of other tables lead there, the first cell opens the row. */
import { href, setQuery } from "../../router.ts"
import { textOf } from "../sql/grid.tsx"
import { type Row, type Sort, type Table, writeFilters } from "./sql.ts"

const NUMBERS = /^(smallint|integer|bigint|numeric|real|double|money)/
const CELL_LENGTH_MAX = 80

const referenceOf = (table: Table, column: string, value: unknown): string | undefined => {
  const found = table.relationships.find(
    ({ source_schema, source_table_name, source_column_name }) =>
      source_schema === table.schema && source_table_name === table.name && source_column_name === column,
  )
  if (!found || value === null || value === undefined) return undefined
  const database = new URLSearchParams(location.search).get("database")
  const filter = { column: found.target_column_name, operator: "=", value: textOf(value) } as const
  return href("tables", {
    ...(database && { database }),
    table: `${found.target_table_schema}.${found.target_table_name}`,
    where: writeFilters([filter]) ?? "",
  })
}

const Cell = ({
  table,
  column,
  value,
}: {
  readonly table: Table
  readonly column: string
  readonly value: unknown
}) => {
  if (value === null || value === undefined) return <span className="none">null</span>
  const text = textOf(value)
  const shown = text.length > CELL_LENGTH_MAX ? `${text.slice(0, CELL_LENGTH_MAX)}…` : text
  const target = referenceOf(table, column, value)
  return target ? <a href={target}>{shown}</a> : shown
}

const nextSort = (sort: Sort | undefined, column: string): string | null => {
  if (sort?.column !== column) return column
  return sort.isDown ? null : `-${column}`
}

export const RowTable = ({
  table,
  rows,
  sort,
  onOpen,
}: {
  readonly table: Table
  readonly rows: readonly Row[]
  readonly sort: Sort | undefined
  readonly onOpen: (row: Row) => void
}) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by the keyboard
  <section className="table grid" tabIndex={0} aria-label={`Rows of ${table.name}`}>
    <table>
      <thead>
        <tr>
          <th scope="col">
            <span className="unseen">Open</span>
          </th>
          {table.columns.map(({ name, full_type }) => (
            <th
              key={name}
              scope="col"
              className={NUMBERS.test(full_type) ? "right" : undefined}
              aria-sort={sort?.column === name ? (sort.isDown ? "descending" : "ascending") : undefined}
            >
              <button
                type="button"
                className="link"
                onClick={() => setQuery({ sort: nextSort(sort, name), offset: null })}
              >
                {name}
                {sort?.column === name && <span aria-hidden="true">{sort.isDown ? " ↓" : " ↑"}</span>}
              </button>{" "}
              <span className="type">{full_type}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a table may have no key
          <tr key={at}>
            <td>
              <button
                type="button"
                className="link small"
                aria-label={`Open row ${at + 1}`}
                onClick={() => onOpen(row)}
              >
                Open
              </button>
            </td>
            {table.columns.map(({ name, full_type }) => (
              <td key={name} className={NUMBERS.test(full_type) ? "right" : undefined}>
                <Cell table={table} column={name} value={row[name]} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)
