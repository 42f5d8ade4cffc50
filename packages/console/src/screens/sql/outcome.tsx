/** What statements brought: rows, a count, a plan, or the mistake and where it is. */
import { agoOf } from "../../derived/labels.ts"
import { Problem } from "../../ui/problem.tsx"
import { saveText } from "../../ui/save.ts"
import { Grid } from "./grid.tsx"
import { type Outcome, type Reply, ran } from "./run.ts"
import { csvOf } from "./statements.ts"

const PLAN = "QUERY PLAN"

const Plan = ({ rows }: Pick<Reply, "rows">) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reached by the keyboard
  <pre tabIndex={0} className="plan">
    {rows.map(([line]) => String(line)).join("\n")}
  </pre>
)

const save = ({ columns, rows }: Reply, kind: "csv" | "json") => {
  const names = columns.map(({ name }) => name)
  const objects = () => rows.map(row => Object.fromEntries(names.map((name, at) => [name, row[at]])))
  if (kind === "csv") saveText("result.csv", "text/csv", csvOf(names, rows))
  else saveText("result.json", "application/json", JSON.stringify(objects(), null, 2))
}

const Done = ({ reply }: { readonly reply: Reply }) => {
  const { columns, rows, row_count, command, truncated, meta } = reply
  const hasRows = columns.length > 0
  return (
    <>
      <p className="result-line soft">
        <span className="status good">
          <span aria-hidden="true">●</span> {command ?? "Done"}
        </span>
        {row_count !== null && (
          <span className="number">
            {row_count.toLocaleString("en")} {row_count === 1 ? "row" : "rows"}
          </span>
        )}
        <span className="number">
          {meta.duration_ms.toLocaleString("en", { maximumFractionDigits: 1 })} ms
          {meta.wake_ms > 0 && `, after ${Math.round(meta.wake_ms)} ms to wake it`}
        </span>
        {hasRows && columns[0]?.name !== PLAN && (
          <span className="line-buttons">
            <button type="button" className="quiet small" onClick={() => save(reply, "csv")}>
              Save CSV
            </button>
            <button type="button" className="quiet small" onClick={() => save(reply, "json")}>
              Save JSON
            </button>
          </span>
        )}
      </p>
      {truncated && <p className="notice">There are more rows than were asked for. Narrow the statement.</p>}
      {hasRows &&
        (columns[0]?.name === PLAN ? (
          <Plan rows={rows} />
        ) : (
          <Grid columns={columns} rows={rows} label="Rows" />
        ))}
    </>
  )
}

export const Outcomes = ({
  outcomes,
  onShow,
}: {
  readonly outcomes: readonly Outcome[]
  readonly onShow: (position: number) => void
}) => (
  <section className="outcome" aria-label="Result" aria-live="polite">
    {outcomes.map(({ statement, reply, error, position }) => (
      <div key={statement.from}>
        {outcomes.length > 1 && <code className="said">{statement.sql.slice(0, 200)}</code>}
        {reply && <Done reply={reply} />}
        <Problem error={error} />
        {position !== undefined && (
          <p>
            <button type="button" className="quiet small" onClick={() => onShow(position)}>
              Show where
            </button>
          </p>
        )}
      </div>
    ))}
  </section>
)

export const History = ({ onTake }: { readonly onTake: (sql: string) => void }) => {
  const known = ran.use()
  if (known.length === 0) return null
  return (
    <details className="history">
      <summary>What was run here ({known.length})</summary>
      <ul className="operations">
        {known.map(({ sql, at, note }) => (
          <li key={`${at} ${sql}`}>
            <button type="button" className="row" onClick={() => onTake(sql)}>
              <code>{sql.replaceAll(/\s+/g, " ").slice(0, 160)}</code>
              <span className="soft small">{note}</span>
              <span className="soft small">{agoOf(new Date(at).toISOString())}</span>
            </button>
          </li>
        ))}
      </ul>
    </details>
  )
}
