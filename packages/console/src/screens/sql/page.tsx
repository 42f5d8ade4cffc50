/** SQL by hand: tables at the side, statements, and what they brought. */
import { type FormEvent, useMemo, useRef, useState } from "react"
import { call } from "../../api.ts"
import type { Surroundings } from "../../derived/request.ts"
import { href, setQuery } from "../../router.ts"
import { Ask } from "../../ui/ask.tsx"
import { useLoaded } from "../../ui/load.ts"
import { Problem } from "../../ui/problem.tsx"
import type { ScreenProps } from "../props.ts"
import { DatabaseChoice, NoDatabase, useDatabases } from "./databases.tsx"
import { type Editor, type Known, SqlEditor } from "./editor.tsx"
import { History, Outcomes } from "./outcome.tsx"
import { type Target, useSql } from "./run.ts"
import { dangersOf, type Statement, statementsOf } from "./statements.ts"
import { nameOf, type SchemaTable, Tree } from "./tree.tsx"

const DRAFT = "svc.sql.draft"

/** Of this tab: it outlives a reload and an upgrade of the page, and not the tab. */
const keepDraft = (text: string): void => {
  try {
    sessionStorage.setItem(DRAFT, text)
  } catch {
    // Private windows may forbid it.
  }
}
const keptDraft = (): string => {
  try {
    return sessionStorage.getItem(DRAFT) ?? ""
  } catch {
    return ""
  }
}

const useTables = (surroundings: Surroundings, target: Target, version: number) =>
  useLoaded(`${surroundings.project} ${target.database_id} ${version}`, async () => {
    const { tables, views } = await call<{
      readonly tables: readonly SchemaTable[]
      readonly views: readonly SchemaTable[]
    }>("getSchema", { ...target, include_columns: true }, surroundings, { quiet: true })
    return [...tables, ...views]
  })

const AskInEnglish = ({
  surroundings,
  target,
  onSql,
}: {
  readonly surroundings: Surroundings
  readonly target: Target
  readonly onSql: (sql: string) => void
}) => {
  const [question, setQuestion] = useState("")
  const [state, setState] = useState<{
    readonly isBusy: boolean
    readonly error?: unknown
    readonly said?: string
  }>({
    isBusy: false,
  })
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setState({ isBusy: true })
    try {
      const { sql, explanation, warnings } = await call<{
        readonly sql: string
        readonly explanation: string
        readonly warnings: readonly string[]
      }>("naturalLanguageToSql", { ...target, question }, surroundings)
      onSql(sql)
      setState({ isBusy: false, said: [explanation, ...warnings].join(" ") })
    } catch (error) {
      setState({ isBusy: false, error })
    }
  }
  return (
    <form className="line" onSubmit={submit} aria-label="Ask in English">
      <input
        aria-label="Question"
        placeholder="Ask in English: how many orders were placed last week?"
        required
        value={question}
        onChange={event => setQuestion(event.target.value)}
      />
      <button type="submit" className="quiet" disabled={state.isBusy}>
        {state.isBusy ? "Writing …" : "Write the SQL"}
      </button>
      {state.said && <p className="soft small">{state.said} It has not been run.</p>}
      <Problem error={state.error} />
    </form>
  )
}

interface Asked {
  readonly chosen: Statement
  readonly dangers: readonly string[]
}

const Destroys = ({
  asked,
  onYes,
  onNo,
}: {
  readonly asked: Asked
  readonly onYes: () => void
  readonly onNo: () => void
}) => (
  <Ask title="This destroys data" verb="Run it" onYes={onYes} onNo={onNo}>
    <ul className="list">
      {asked.dangers.map(danger => (
        <li key={danger}>{danger}</li>
      ))}
    </ul>
    <p className="soft small">A branch or a restore to an earlier second may bring it back.</p>
  </Ask>
)

const knownOf = (tables: readonly SchemaTable[]): Known =>
  Object.fromEntries(
    tables.map(table => [
      table.schema === "public" ? table.name : `${table.schema}.${table.name}`,
      (table.columns ?? []).map(({ name }) => name),
    ]),
  )

const NONE: readonly SchemaTable[] = []
const CHANGES = /^(create|alter|drop|comment)/i

const Bench = ({
  surroundings,
  target,
}: {
  readonly surroundings: Surroundings
  readonly target: Target
}) => {
  const editor = useRef<Editor>(null)
  const [version, setVersion] = useState(0)
  const [isReadOnly, setReadOnly] = useState(false)
  const [asked, setAsked] = useState<Asked>()
  const tables = useTables(surroundings, target, version)
  const last = useRef<readonly SchemaTable[]>(undefined)
  if (tables.state === "ready") last.current = tables.value
  const list = last.current
  const known = useMemo(() => knownOf(list ?? NONE), [list])
  const { outcomes, isRunning, run, stop } = useSql(surroundings, target)

  const really = async (chosen: Statement) => {
    await run(chosen, { isReadOnly })
    if (statementsOf(chosen.sql).some(({ sql }) => CHANGES.test(sql))) setVersion(known => known + 1)
  }
  const start = (chosen = editor.current?.chosen()) => {
    if (!chosen || isRunning) return
    const dangers = isReadOnly ? [] : statementsOf(chosen.sql).flatMap(({ sql }) => dangersOf(sql))
    if (dangers.length > 0) setAsked({ chosen, dangers })
    else void really(chosen)
  }
  const whole = (): Statement | undefined => {
    const text = editor.current?.text() ?? ""
    return text.trim() === "" ? undefined : { sql: text, from: 0, to: text.length }
  }
  const explain = () => {
    const chosen = editor.current?.chosen()
    if (chosen) void run(chosen, { isReadOnly: true, prefix: "EXPLAIN " })
  }
  return (
    <div className="bench">
      <Tree
        tables={list}
        error={tables.state === "failed" ? tables.reason : undefined}
        onInsert={text => editor.current?.insert(text)}
        onOpen={table => {
          const sql = `SELECT * FROM ${nameOf(table)} LIMIT 100;`
          editor.current?.setText(sql)
          start({ sql, from: 0, to: sql.length })
        }}
      />
      <div className="work">
        <AskInEnglish
          surroundings={surroundings}
          target={target}
          onSql={sql => {
            const before = editor.current?.text().trim() ?? ""
            editor.current?.setText(before === "" ? sql : `${before}\n\n${sql}`)
            editor.current?.show(Number.MAX_SAFE_INTEGER)
          }}
        />
        <SqlEditor
          initial={keptDraft()}
          known={known}
          editor={editor}
          onRun={() => start()}
          onChange={keepDraft}
        />
        <div className="buttons">
          <button
            type="button"
            aria-keyshortcuts="Control+Enter Meta+Enter"
            disabled={isRunning}
            onClick={() => start()}
          >
            {isRunning ? "Running …" : "Run"} <kbd>Ctrl Enter</kbd>
          </button>
          <button type="button" className="quiet" disabled={isRunning} onClick={() => start(whole())}>
            Run all
          </button>
          <button type="button" className="quiet" disabled={isRunning} onClick={explain}>
            Explain
          </button>
          {isRunning && (
            <button type="button" className="quiet" onClick={stop}>
              Stop waiting
            </button>
          )}
          <label className="tick">
            <input
              type="checkbox"
              checked={isReadOnly}
              onChange={event => setReadOnly(event.target.checked)}
            />
            Only read
          </label>
        </div>
        <Outcomes outcomes={outcomes} onShow={position => editor.current?.show(position)} />
        <History onTake={sql => editor.current?.setText(sql)} />
      </div>
      {asked && (
        <Destroys
          asked={asked}
          onNo={() => setAsked(undefined)}
          onYes={() => {
            setAsked(undefined)
            void really(asked.chosen)
          }}
        />
      )}
    </div>
  )
}

export const SqlPage = ({ surroundings, query }: ScreenProps) => {
  const { databases, chosen, error, reload } = useDatabases(surroundings, query)
  return (
    <>
      <div className="head">
        <h1>SQL editor</h1>
        {databases && databases.length > 0 && (
          <DatabaseChoice
            databases={databases}
            chosen={chosen?.id}
            onChoose={id => setQuery({ database: id })}
          />
        )}
        <a href={href("api/listQueryLogs")}>Query log</a>
      </div>
      <Problem error={error} />
      {databases === undefined && !error && <p className="soft">Loading …</p>}
      {databases?.length === 0 && <NoDatabase surroundings={surroundings} onMade={reload} />}
      {chosen && <Bench key={chosen.id} surroundings={surroundings} target={{ database_id: chosen.id }} />}
    </>
  )
}
