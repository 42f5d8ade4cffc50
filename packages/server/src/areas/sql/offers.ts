/** What other areas may ask of this one: types and tokens alone. */
import type pg from "pg"
import type { Accept } from "../../kernel/tcp-listener.ts"
import { offerToken } from "../../kernel/token.ts"
import type { Target } from "../../services/postgres/target.ts"

/** What the log says of one statement, in the window and before it. */
export interface StatementHistory {
  readonly query_id: string
  readonly sql: string
  readonly calls: number
  readonly errors: number
  readonly p95_ms: number | null
  readonly last_sqlstate: string | null
  readonly baseline_calls: number
  readonly baseline_errors: number
  readonly baseline_p95_ms: number | null
}

export interface HistoryWindow {
  readonly baselineFrom: Date
  readonly from: Date
  readonly to: Date
}

/** What the types of a result are called, and how their values, as PostgreSQL writes them, become JSON. */
export interface ResultTypes {
  read(
    client: pg.ClientBase,
    oids: readonly number[],
  ): Promise<(oid: number) => { readonly name: string; toJson(text: string): unknown }>
}

/** Judges statements and reads their results. */
export interface StatementReader {
  /** Throws `invalid_sql` (400) unless the statement only reads. */
  checkReadOnly(sql: string): Promise<void>
  /** `volumeId`: what the database's own types are remembered by. */
  resultTypesOf(volumeId: string): ResultTypes
}

export interface StatementLog {
  /** The busiest statements of a branch that were called at least so often. */
  histories(
    target: Pick<Target, "organizationId" | "databaseId" | "branchId">,
    window: HistoryWindow,
    callsMin: { readonly window: number; readonly baseline: number },
  ): Promise<StatementHistory[]>
}

/** What this area knows of statements. */
export interface Statements extends StatementReader, StatementLog {}

export const statements = offerToken<Statements>("statements")

/** Serves clients of PostgreSQL's protocol. */
export const postgresClients = offerToken<Accept>("postgresClients")
