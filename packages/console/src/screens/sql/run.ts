/** Runs what is chosen, one statement after the other, and keeps what was run while the page is open. */
import { useRef, useState } from "react"
import { call, Refused } from "../../api.ts"
import type { Surroundings } from "../../derived/request.ts"
import { createStore } from "../../store.ts"
import type { Column } from "./grid.tsx"
import { type Statement, statementsOf } from "./statements.ts"

export interface Reply {
  readonly columns: readonly Column[]
  readonly rows: readonly (readonly unknown[])[]
  readonly row_count: number | null
  readonly command: string | null
  readonly truncated: boolean
  readonly meta: { readonly duration_ms: number; readonly wake_ms: number }
}

export interface Outcome {
  readonly statement: Statement
  readonly reply?: Reply
  readonly error?: unknown
  /** In the whole text, where the database found a mistake. */
  readonly position?: number
}

export interface Ran {
  readonly sql: string
  readonly at: number
  readonly note: string
}

const HISTORY_MAX = 100
/** Of this tab, and gone with it: statements may hold what belongs to others. */
export const ran = createStore<readonly Ran[]>([])

export interface Target {
  readonly database_id?: string
  readonly branch_id?: string
}

const positionOf = (error: unknown): number | undefined => {
  const position = error instanceof Refused ? error.problem.details?.position : undefined
  return typeof position === "number" ? position - 1 : undefined
}

const noteOf = ({ reply, error }: Outcome): string => {
  if (reply) return `${reply.row_count ?? 0} rows, ${Math.round(reply.meta.duration_ms)} ms`
  return error instanceof Error ? error.message : String(error)
}

export const useSql = (surroundings: Surroundings, target: Target) => {
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>([])
  const [isRunning, setRunning] = useState(false)
  const abort = useRef<AbortController>(undefined)

  const one = async (statement: Statement, prefix: string, isReadOnly: boolean): Promise<Outcome> => {
    const fields = {
      ...target,
      sql: prefix + statement.sql,
      array_mode: true,
      max_rows: 10_000,
      ...(isReadOnly ? { read_only: true } : {}),
    }
    try {
      const signal = abort.current?.signal
      const reply = await call<Reply>("executeSql", fields, surroundings, signal ? { signal } : {})
      return { statement, reply }
    } catch (error) {
      const position = positionOf(error)
      if (position === undefined) return { statement, error }
      return { statement, error, position: statement.from + Math.max(0, position - prefix.length) }
    }
  }

  /** Stops at the first that fails: what follows may rest on it. */
  const run = async (chosen: Statement, { isReadOnly = false, prefix = "" } = {}): Promise<void> => {
    abort.current = new AbortController()
    setRunning(true)
    setOutcomes([])
    const done: Outcome[] = []
    for (const part of statementsOf(chosen.sql)) {
      const statement = { ...part, from: chosen.from + part.from, to: chosen.from + part.to }
      const outcome = await one(statement, prefix, isReadOnly)
      if (abort.current.signal.aborted) break
      done.push(outcome)
      setOutcomes([...done])
      const entry = { sql: prefix + part.sql, at: Date.now(), note: noteOf(outcome) }
      ran.set([entry, ...ran.get()].slice(0, HISTORY_MAX))
      if (outcome.error) break
    }
    setRunning(false)
  }
  return { outcomes, isRunning, run, stop: () => abort.current?.abort() }
}
