/** A list as a table: the columns that matter first, a link to each record, and pages. */
import type { Details, OperationRow } from "../model.ts"
import { href, setQuery } from "../router.ts"
import { Value } from "../ui/value.tsx"
import { labelOf } from "./labels.ts"
import { operationsOf, paramsOf, recordOperation } from "./manifest.ts"

type Row = Readonly<Record<string, unknown>>

const isRow = (value: unknown): value is Row =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** What the record's last parameter is called in a row: itself, `id`, or `name`. */
const identityOf = (row: Row, param: string): string | undefined => {
  const value = row[param] ?? row.id ?? row[param.replace(/_?(id|name)$/, "_id")] ?? row.name ?? row.key
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined
}

const recordHref = (list: OperationRow, row: Row): string | undefined => {
  const record = recordOperation(list)
  const params = record ? paramsOf(record.path) : []
  const last = params.at(-1)
  if (!record || last === undefined) return undefined
  const identity = identityOf(row, last)
  if (identity === undefined) return undefined
  const given = new URLSearchParams(location.search)
  const inherited = params.slice(0, -1).flatMap(name => {
    const value = given.get(`f.${name}`)
    return value === null ? [] : [[`f.${name}`, value] as const]
  })
  return href(`api/${record.id}`, { ...Object.fromEntries(inherited), [`f.${last}`]: identity })
}

const columnsOf = (rows: readonly Row[], { list }: Details): readonly string[] => {
  const declared = list?.columns ?? []
  return declared.length > 0 ? declared : Object.keys(rows[0] ?? {}).slice(0, 7)
}

const Table = ({
  rows,
  columns,
  operation,
}: {
  readonly rows: readonly Row[]
  readonly columns: readonly string[]
  readonly operation: OperationRow
}) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by the keyboard
  <section className="table" tabIndex={0} aria-label={`Rows of ${operation.summary}`}>
    <table>
      <thead>
        <tr>
          {columns.map(name => (
            <th key={name} scope="col">
              {labelOf(name)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => {
          const target = recordHref(operation, row)
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows of some lists have no name of their own
            <tr key={at}>
              {columns.map((name, column) => (
                <td key={name} className={typeof row[name] === "number" ? "right" : undefined}>
                  {column === 0 && target ? (
                    <a href={target}>
                      <Value name={name} value={row[name] ?? "open"} />
                    </a>
                  ) : (
                    <Value name={name} value={row[name]} />
                  )}
                </td>
              ))}
            </tr>
          )
        })}
      </tbody>
    </table>
  </section>
)

const makers = (operation: OperationRow) =>
  operationsOf(operation.area).filter(
    ({ method, path, effect }) =>
      effect === "w" &&
      ["POST", "PUT"].includes(method) &&
      (path === operation.path || path.replace(/\/[^/]*$/, "") === operation.path.replace(/\/[^/]*$/, "")),
  )

const Empty = ({ operation }: { readonly operation: OperationRow }) => {
  const [maker] = makers(operation)
  return (
    <div className="empty">
      <p>
        <strong>Nothing here yet.</strong> {operation.area.summary}
      </p>
      {maker && (
        <p>
          <a className="button" href={href(`api/${maker.id}`)}>
            {maker.summary}
          </a>
        </p>
      )}
    </div>
  )
}

const Pages = ({ payload, count }: { readonly payload: Row; readonly count: number }) => {
  const { total, limit, offset } = payload
  const cursor = payload.cursor ?? payload.nextCursor
  if (typeof cursor === "string" && cursor !== "")
    return (
      <p className="pages">
        <button type="button" onClick={() => setQuery({ "f.cursor": cursor })}>
          Next page
        </button>
      </p>
    )
  if (typeof total !== "number" || typeof limit !== "number" || typeof offset !== "number") return null
  const turn = (to: number) => setQuery({ "f.offset": to <= 0 ? null : String(to), "f.limit": String(limit) })
  return (
    <p className="pages">
      <span className="number soft">
        {count === 0
          ? "No rows"
          : `${(offset + 1).toLocaleString("en")}–${(offset + count).toLocaleString("en")}`}{" "}
        of {total.toLocaleString("en")}
      </span>
      {(offset > 0 || offset + count < total) && (
        <>
          <button
            type="button"
            className="quiet"
            disabled={offset === 0}
            onClick={() => turn(offset - limit)}
          >
            Previous
          </button>
          <button
            type="button"
            className="quiet"
            disabled={offset + count >= total}
            onClick={() => turn(offset + limit)}
          >
            Next
          </button>
        </>
      )}
    </p>
  )
}

export const Rows = ({
  rows: given,
  payload,
  details,
  operation,
}: {
  readonly rows: readonly unknown[]
  readonly payload: Row
  readonly details: Details
  readonly operation: OperationRow
}) => {
  const rows = given.filter(isRow)
  const isFirst = !new URLSearchParams(location.search).has("f.offset")
  if (rows.length === 0 && isFirst) return <Empty operation={operation} />
  return (
    <>
      <Table rows={rows} columns={columnsOf(rows, details)} operation={operation} />
      <Pages payload={payload} count={rows.length} />
    </>
  )
}
