import { Kysely, PostgresDialect, type Transaction, type TransactionBuilder } from "kysely"
import pg from "pg"
import { parseJson } from "../exact-json.ts"
import type { Tables } from "./tables.gen.ts"

/** The pool, or a transaction on it: stores take either. */
export type Db = Kysely<Tables>
export type Tx = Transaction<Tables>

export interface Database extends AsyncDisposable {
  readonly db: Db
  readonly pool: pg.Pool
  transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>
}

const INT8 = 20
const DATE = 1082
const JSON_TYPES: ReadonlySet<number> = new Set([114, 3802])
const STATEMENT_TIMEOUT_MS = 30_000

/**
 * Our 64-bit columns are counters and byte sizes below 2^53, so a number holds them exactly. A date is a day of the
 * calendar and stays text: as a Date it would be midnight in the server's time zone. Numbers in JSON keep their
 * digits, because much of it is the callers' own.
 */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) => {
    if (format === "binary") return pg.types.getTypeParser(oid, format)
    if (oid === INT8) return Number
    if (JSON_TYPES.has(oid)) return parseJson
    return oid === DATE ? String : pg.types.getTypeParser(oid, "text")
  },
}

export const openDatabase = (options: {
  connectionString: string
  connectionsMax: number
  onError: (error: Error) => void
}): Database => {
  const pool = new pg.Pool({
    connectionString: options.connectionString,
    max: options.connectionsMax,
    idleTimeoutMillis: 30_000,
    connectionTimeoutMillis: 10_000,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    application_name: "svc",
    types,
  })
  let closing = false
  // An idle connection that breaks must not end the process; the next query opens another.
  pool.on("error", error => closing || options.onError(error))
  // Nor may one that is lent out and waits between two statements: its next statement fails, and says so.
  pool.on("connect", client => client.on("error", () => undefined))
  const db = new ControlDatabase({ dialect: new PostgresDialect({ pool }) })

  return {
    db,
    pool,
    transaction: work => db.transaction().execute(work),
    async [Symbol.asyncDispose]() {
      // The pool does not wait until its connections have ended, and the server may end them first.
      closing = true
      await pool.end()
    },
  }
}

/** Acts of each open transaction, carried out when it has committed. */
const waiting = new WeakMap<Db, (() => void)[]>()

/** Gives the transactions that a builder begins the acts that wait for their commit. */
const withActs = (builder: TransactionBuilder<Tables>): TransactionBuilder<Tables> => {
  const execute = builder.execute.bind(builder)
  const setAccessMode = builder.setAccessMode.bind(builder)
  const setIsolationLevel = builder.setIsolationLevel.bind(builder)
  return Object.assign(builder, {
    setAccessMode: (mode: Parameters<typeof setAccessMode>[0]) => withActs(setAccessMode(mode)),
    setIsolationLevel: (level: Parameters<typeof setIsolationLevel>[0]) => withActs(setIsolationLevel(level)),
    async execute<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
      const acts: (() => void)[] = []
      const result = await execute(tx => {
        waiting.set(tx, acts)
        return work(tx)
      })
      for (const act of acts) act()
      return result
    },
  })
}

/** Every commit of a transaction on it runs the actions that wait for the commit. */
class ControlDatabase extends Kysely<Tables> {
  override transaction(): TransactionBuilder<Tables> {
    return withActs(super.transaction())
  }
}

/**
 * Acts once what is done on `db` is committed: at the end of its transaction, or now on the pool. The act must not
 * throw. It is a shortcut and no promise: a crash leaves it out.
 */
export const afterCommit = (db: Db, act: () => void): void => {
  if (!db.isTransaction) return void act()
  const acts = waiting.get(db)
  // Else the act would be left out silently.
  if (!acts) throw new Error("the transaction was not begun by transaction() of a database")
  acts.push(act)
}

const UNIQUE_VIOLATION = "23505"
const FOREIGN_KEY_VIOLATION = "23503"

const hasCode = (error: unknown, code: string): error is { constraint?: string } =>
  typeof error === "object" && error !== null && "code" in error && error.code === code

/** True when the statement broke the unique constraint or index of that name (or any). */
export const isUniqueViolation = (error: unknown, constraint?: string): boolean =>
  hasCode(error, UNIQUE_VIOLATION) && (constraint === undefined || error.constraint === constraint)

export const isForeignKeyViolation = (error: unknown): boolean => hasCode(error, FOREIGN_KEY_VIOLATION)
