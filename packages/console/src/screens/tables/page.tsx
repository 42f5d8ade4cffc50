/** Rows of a table: filtered, sorted, page by page; edits are staged and saved together. */
import { useEffect, useState } from "react"
import { call } from "../../api.ts"
import type { Surroundings } from "../../derived/request.ts"
import { setQuery } from "../../router.ts"
import { useLoaded } from "../../ui/load.ts"
import { Problem } from "../../ui/problem.tsx"
import type { ScreenProps } from "../props.ts"
import { DatabaseChoice, NoDatabase, useDatabases } from "../sql/databases.tsx"
import { Filters } from "./filters.tsx"
import { RowPanel } from "./row.tsx"
import { RowTable } from "./rows.tsx"
import {
  type Edit,
  parseFilters,
  type Row,
  readable,
  type Sort,
  selectOf,
  statementOf,
  type Table,
  writeFilters,
} from "./sql.ts"

const PAGE = 100
/** PostgreSQL's code of a transaction that was rolled back. */
const TAKEN_BACK = "40000"

interface Place {
  readonly surroundings: Surroundings
  readonly database: string
}

interface Read {
  readonly rows: readonly Row[]
}

interface Saved {
  readonly committed: boolean | null
  readonly results: readonly {
    readonly ok: boolean
    readonly row_count?: number | null
    readonly error?: { readonly error: string; readonly details?: { readonly sqlstate?: string } }
  }[]
}

const sortOf = (query: URLSearchParams, { columns }: Table): Sort | undefined => {
  const text = query.get("sort") ?? ""
  const column = text.replace(/^-/, "")
  return columns.some(({ name }) => name === column) ? { column, isDown: text.startsWith("-") } : undefined
}

const Staged = ({
  table,
  edits,
  place,
  onSaved,
  onDiscard,
}: {
  readonly table: Table
  readonly edits: readonly Edit[]
  readonly place: Place
  /** With the number of edits whose row was gone. */
  readonly onSaved: (lost: number) => void
  readonly onDiscard: () => void
}) => {
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const statements = edits.map(edit => statementOf(table, edit))
  const save = async () => {
    setBusy(true)
    setError(undefined)
    try {
      const fields = { database_id: place.database, statements, transaction: true }
      const { committed, results } = await call<Saved>("batchSql", fields, place.surroundings)
      // The others are told that they were taken back.
      const failed = results.find(({ error }) => error && error.details?.sqlstate !== TAKEN_BACK)
      if (!committed) throw new Error(failed?.error?.error ?? "The database did not keep the edits.")
      onSaved(results.filter(({ row_count }) => row_count === 0).length)
    } catch (refused) {
      setError(refused)
    }
    setBusy(false)
  }
  // Control+S saves from wherever the focus is.
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "s") return
      event.preventDefault()
      void save()
    }
    document.addEventListener("keydown", onKey)
    return () => document.removeEventListener("keydown", onKey)
  })
  return (
    <section className="panel staged" aria-label="Staged edits">
      <div className="head">
        <h2>{edits.length === 1 ? "One edit is staged" : `${edits.length} edits are staged`}</h2>
        <button
          type="button"
          aria-keyshortcuts="Control+S Meta+S"
          disabled={isBusy}
          onClick={() => void save()}
        >
          Save <kbd>Ctrl S</kbd>
        </button>
        <button type="button" className="quiet" disabled={isBusy} onClick={onDiscard}>
          Discard
        </button>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by the keyboard */}
      <pre tabIndex={0}>{statements.map(readable).join(";\n")};</pre>
      <p className="soft small">All of them in one transaction, or none.</p>
      <Problem error={error} />
    </section>
  )
}

const Pages = ({
  offset,
  count,
  about,
}: {
  readonly offset: number
  readonly count: number
  readonly about: string
}) => (
  <p className="pages">
    <span className="soft number">
      {count === 0
        ? "No rows"
        : `Rows ${(offset + 1).toLocaleString("en")} to ${(offset + Math.min(count, PAGE)).toLocaleString("en")}`}
      {about}
    </span>
    <button
      type="button"
      className="quiet"
      disabled={offset === 0}
      onClick={() => setQuery({ offset: offset <= PAGE ? null : String(offset - PAGE) })}
    >
      Previous
    </button>
    <button
      type="button"
      className="quiet"
      disabled={count <= PAGE}
      onClick={() => setQuery({ offset: String(offset + PAGE) })}
    >
      Next
    </button>
  </p>
)

const Browser = ({
  table,
  place,
  query,
}: {
  readonly table: Table
  readonly place: Place
  readonly query: URLSearchParams
}) => {
  const [version, setVersion] = useState(0)
  const [lost, setLost] = useState(0)
  const [edits, setEdits] = useState<readonly Edit[]>([])
  const [opened, setOpened] = useState<{ readonly row: Row | undefined }>()
  const filters = parseFilters(query.get("where"), table)
  const sort = sortOf(query, table)
  const offset = Math.max(0, Number.parseInt(query.get("offset") ?? "0", 10) || 0)
  const { sql, params } = selectOf(table, { filters, sort, limit: PAGE + 1, offset })
  const loaded = useLoaded(`${place.database} ${sql} ${JSON.stringify(params)} ${version}`, () =>
    call<Read>(
      "executeSql",
      { database_id: place.database, sql, params, read_only: true, max_rows: PAGE + 1 },
      place.surroundings,
    ),
  )
  const rows = loaded.state === "ready" ? loaded.value.rows : []
  const stage = (edit: Edit) => {
    setEdits(known => [...known, edit])
    setOpened(undefined)
  }
  // Counting a large table takes long; the statistics of a new one know nothing yet.
  const estimate = table.live_rows_estimate
  const about =
    filters.length > 0 || estimate < offset + rows.length ? "" : ` of about ${estimate.toLocaleString("en")}`
  return (
    <>
      <Filters
        table={table}
        filters={filters}
        onChange={next => setQuery({ where: writeFilters(next), offset: null })}
        onInsert={() => setOpened({ row: undefined })}
      />
      {edits.length > 0 && (
        <Staged
          table={table}
          edits={edits}
          place={place}
          onDiscard={() => setEdits([])}
          onSaved={lost => {
            setEdits([])
            setLost(lost)
            setVersion(known => known + 1)
          }}
        />
      )}
      {lost > 0 && (
        <p className="notice" role="status">
          {lost} of the edits found no row: somebody has deleted it, or changed its key.
        </p>
      )}
      <Problem error={loaded.state === "failed" ? loaded.reason : undefined} />
      {loaded.state === "loading" && <p className="soft">Loading …</p>}
      <div className={opened ? "split" : undefined}>
        <div className="min">
          {loaded.state === "ready" && (
            <>
              <RowTable
                table={table}
                rows={rows.slice(0, PAGE)}
                sort={sort}
                onOpen={row => setOpened({ row })}
              />
              <Pages offset={offset} count={rows.length} about={about} />
            </>
          )}
        </div>
        {opened && (
          <RowPanel
            key={JSON.stringify(opened.row ?? null)}
            table={table}
            row={opened.row}
            onStage={stage}
            onClose={() => setOpened(undefined)}
          />
        )}
      </div>
    </>
  )
}

const fullName = ({ schema, name }: Table): string => `${schema}.${name}`

const Tables = ({ place, query }: { readonly place: Place; readonly query: URLSearchParams }) => {
  const loaded = useLoaded(`tables ${place.database}`, async () => {
    const fields = { database_id: place.database, include_columns: true }
    const { tables } = await call<{ readonly tables: readonly Table[] }>(
      "getSchema",
      fields,
      place.surroundings,
      {
        quiet: true,
      },
    )
    return tables
  })
  if (loaded.state === "loading") return <p className="soft">Loading …</p>
  if (loaded.state === "failed") return <Problem error={loaded.reason} />
  const tables = loaded.value
  const table = tables.find(table => fullName(table) === query.get("table")) ?? tables[0]
  if (!table)
    return (
      <div className="empty">
        <p>
          <strong>No table yet.</strong> Make one in the SQL editor.
        </p>
      </div>
    )
  return (
    <>
      <div className="line">
        <select
          className="narrow"
          aria-label="Table"
          value={fullName(table)}
          onChange={event => setQuery({ table: event.target.value, where: null, sort: null, offset: null })}
        >
          {tables.map(other => (
            <option key={fullName(other)} value={fullName(other)}>
              {other.schema === "public" ? other.name : fullName(other)}
            </option>
          ))}
        </select>
      </div>
      <Browser key={fullName(table)} table={table} place={place} query={query} />
    </>
  )
}

export const TablesPage = ({ surroundings, query }: ScreenProps) => {
  const { databases, chosen, error, reload } = useDatabases(surroundings, query)
  return (
    <>
      <div className="head">
        <h1>Tables</h1>
        {databases && databases.length > 0 && (
          <DatabaseChoice
            databases={databases}
            chosen={chosen?.id}
            onChoose={id => setQuery({ database: id, table: null, where: null, sort: null, offset: null })}
          />
        )}
      </div>
      <Problem error={error} />
      {databases === undefined && !error && <p className="soft">Loading …</p>}
      {databases?.length === 0 && <NoDatabase surroundings={surroundings} onMade={reload} />}
      {chosen && <Tables key={chosen.id} place={{ surroundings, database: chosen.id }} query={query} />}
    </>
  )
}
