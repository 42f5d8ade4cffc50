/** Runs statements on a pooled session and leaves it as it was found. */
import type pg from "pg"
import { invalidSql } from "../../services/postgres/failures.ts"
import {
  ConnectionLost,
  type Field,
  internalsOf,
  isServerError,
  runUnits,
  type ServerError,
  type Unit,
  type Wire,
} from "../../services/postgres/pipeline.ts"
import { CLEAN, discardAll, type Prepared, stateOf } from "../../services/postgres/session-state.ts"
import { STATEMENT_TIMEOUT_MS } from "../../services/postgres/sessions.ts"
import { cancel } from "./cancel.ts"
import { needsType, toParameter } from "./parameters.ts"
import type { TypeCatalog } from "./pg-types.ts"

/** How much longer than its time limit a statement may take to end, before its connection is given up. */
const GRACE_MS = 5_000

export interface Statement {
  readonly sql: string
  /** JSON values. */
  readonly params: readonly unknown[]
}

/** What answers together may hold; shared by the statements of a batch. */
export interface Budget {
  bytesLeft: number
}

export interface Limits {
  readonly rowsMax: number
  readonly timeoutMs: number
  readonly budget: Budget
}

/** Rows as PostgreSQL's text. */
export interface ResultSet {
  readonly fields: readonly Field[]
  readonly rows: readonly (string | null)[][]
  /** The command tag without its counts: `SELECT`, `CREATE TABLE`; null when it is not known. */
  readonly command: string | null
  /** Rows returned, or changed by the statement; null for commands that count nothing. */
  readonly rowCount: number | null
  /** More rows were there than the limits of rows or bytes allow. */
  readonly truncated: boolean
}

/** A tag's words and its last number: `INSERT 0 5` → INSERT, 5. */
export const readTag = (tag: string): { command: string; count: number | null } => {
  const [, command = tag, counts = ""] = /^(\D*[^\d ])((?: \d+)*)$/.exec(tag) ?? []
  const count = counts.split(" ").at(-1)
  return { command, count: count ? Number(count) : null }
}

/** Gathers what one statement gives, within its limits. `skip`: statements of ours that end before it does. */
export const createCollector = (limits: Limits, skip: number) => {
  let fields: readonly Field[] = []
  const rows: (string | null)[][] = []
  let tag: string | null = null
  let ended = 0
  let rowsSeen = 0
  let suspended = false
  let error: ServerError | undefined

  const unit: Unit = {
    fields(described) {
      fields = described
    },
    row(values, bytes) {
      rowsSeen += 1
      if (rows.length < rowsSeen - 1 || rows.length >= limits.rowsMax) return
      if (bytes > limits.budget.bytesLeft) return
      limits.budget.bytesLeft -= bytes
      rows.push(values)
    },
    complete(told) {
      if (ended === skip) tag = told
      ended += 1
    },
    suspended() {
      suspended = true
      ended += 1
    },
    failed(reason) {
      error = reason
    },
  }

  return {
    unit,
    /** Whether anything came of the statement itself. */
    hasBegun: () => ended > skip || rowsSeen > 0,
    error: () => error,
    tag: () => tag,
    result(): ResultSet {
      const { command, count } = tag === null ? { command: null, count: null } : readTag(tag)
      const truncated = suspended || rows.length < rowsSeen
      return {
        fields,
        rows,
        command,
        rowCount: fields.length > 0 ? rows.length : count,
        truncated,
      }
    },
  }
}

export interface Running {
  readonly client: pg.ClientBase
  readonly volumeId: string
  readonly types: TypeCatalog
  /** Aborts when nobody waits for the answer any more. */
  readonly signal?: AbortSignal
}

/** Ends what the session runs when its caller leaves or its time is over; `stopped` then says that it must be closed. */
export const createWatch = ({ client, signal }: Pick<Running, "client" | "signal">, timeoutMs: number) => {
  let stopped = false
  const stop = () => {
    stopped = true
    cancel(client)
  }
  const giveUp = () => {
    stopped = true
    internalsOf(client).connection.stream.destroy()
  }
  const timer = setTimeout(giveUp, timeoutMs + GRACE_MS)
  if (signal?.aborted) stop()
  else signal?.addEventListener("abort", stop, { once: true })
  return {
    get stopped() {
      return stopped
    },
    [Symbol.dispose]() {
      clearTimeout(timer)
      signal?.removeEventListener("abort", stop)
    },
  }
}

/** Parse and Describe alone, so that the types of parameters and columns are known before anything runs. */
export const describe = async (
  client: pg.ClientBase,
  sql: string,
): Promise<{ prepared: Prepared; fields: readonly Field[] }> => {
  const state = stateOf(client)
  let prepared = state.find(sql)
  let fields: readonly Field[] = []
  const [ended] = runUnits(
    client,
    [
      {
        fields(described) {
          fields = described
        },
      },
    ],
    wire => {
      prepared ??= state.prepare(wire, sql)
      const described = prepared
      const learn = ({ dataTypeIDs }: { dataTypeIDs: number[] }) => {
        described.parameters = dataTypeIDs
      }
      wire.once("parameterDescription", learn)
      wire.once("readyForQuery", () => wire.off("parameterDescription", learn))
      wire.describe({ type: "S", name: prepared.name })
      wire.sync()
    },
  )
  const end = await ended
  if (end?.error) {
    state.doubt(sql)
    throw end.error
  }
  return { prepared: prepared as Prepared, fields }
}

/** The parameters as text. Asks the server for their types only when that makes a difference. */
export const parametersOf = async (
  running: Running,
  { sql, params }: Statement,
): Promise<(string | null)[]> => {
  const { client, volumeId, types } = running
  if (!params.some(needsType)) return params.map(value => toParameter(value, 0, types.of(volumeId)))
  const known = stateOf(client).find(sql)?.parameters ?? (await describe(client, sql)).prepared.parameters
  await types.load(volumeId, client, known ?? [])
  const own = types.of(volumeId)
  return params.map((value, position) => toParameter(value, known?.[position] ?? 0, own))
}

const UNKNOWN_STATEMENT = "26000"

/** The server no longer has the statement, or its result has other columns than when it was prepared. */
const isStale = ({ code, routine }: ServerError): boolean =>
  code === UNKNOWN_STATEMENT || (code === "0A000" && routine === "RevalidateCachedQuery")

const sendSettings = (wire: Wire, timeoutMs: number) =>
  wire.query(`SET statement_timeout = ${Math.trunc(timeoutMs)}`)

/** Parse unless the session has the statement, then Bind, Describe and Execute. */
export const sendStatement = (
  wire: Wire,
  client: pg.ClientBase,
  sql: string,
  values: readonly (string | null)[],
  rows: number,
) => {
  const state = stateOf(client)
  const { name } = state.find(sql) ?? state.prepare(wire, sql)
  wire.bind({ statement: name, values })
  wire.describe({ type: "P", name: "" })
  wire.execute({ portal: "", rows })
}

/** Without Sync, so that what follows is skipped when this fails: nothing runs outside the transaction. */
export const sendBegin = (wire: Wire, begin: string) => {
  wire.parse({ text: begin })
  wire.bind({})
  wire.execute({ portal: "", rows: 0 })
}

const BEGIN_READ_ONLY = "BEGIN READ ONLY"

const isForgetting = (tag: string | null): boolean => tag !== null && /^(?:DEALLOCATE|DISCARD)/.test(tag)

export const openTransaction = () =>
  invalidSql("a transaction cannot stay open between requests; send its statements as one batch", {
    sqlstate: "25000",
  })

export type Outcome = { readonly result: ResultSet } | { readonly error: unknown }

interface Attempt {
  readonly result: ResultSet | undefined
  readonly error: ServerError | undefined
  /** The statement was not run, because the session's copy of it is out of date. */
  readonly stale: boolean
  readonly cleaned: Promise<void>
}

/** One write: time limit if it is not the usual one, the statement, and the cleaning of the session. */
const attempt = async (
  client: pg.ClientBase,
  sql: string,
  values: readonly (string | null)[],
  options: Limits & { readonly readOnly: boolean },
): Promise<Attempt> => {
  const state = stateOf(client)
  const known = state.find(sql) !== undefined
  const collector = createCollector(options, options.readOnly ? 1 : 0)
  const isTimed = options.timeoutMs !== STATEMENT_TIMEOUT_MS
  let leftovers = false
  const cleaning: Unit = {
    row([, leaves]) {
      leftovers = leaves !== "f"
    },
  }
  const units = [...(isTimed ? [{}] : []), collector.unit, cleaning]
  const ends = runUnits(client, units, wire => {
    if (isTimed) sendSettings(wire, options.timeoutMs)
    state.prepareCleaning(wire)
    if (options.readOnly) sendBegin(wire, BEGIN_READ_ONLY)
    sendStatement(wire, client, sql, values, options.rowsMax + 1)
    wire.sync()
    wire.query(options.readOnly ? `ROLLBACK;${CLEAN}` : CLEAN)
  })
  const end = await ends.at(-2)
  const tag = collector.tag()

  const clean = async () => {
    const last = await ends.at(-1)
    // The caller has deallocated all statements from within a function, the one that cleans included.
    if (last?.error?.code === UNKNOWN_STATEMENT) return discardAll(client)
    if (last?.error ?? last?.status !== "I") throw last?.error ?? new ConnectionLost("not clean")
    if (isForgetting(tag)) state.forget()
    if (leftovers) await discardAll(client)
  }
  const cleaned = clean()
  cleaned.catch(() => undefined)

  const error = end?.error
  if (error && !known) state.doubt(sql)
  const stale = error !== undefined && known && !collector.hasBegun() && isStale(error)
  if (stale) state.distrust()
  if (!error && end?.status !== "I" && !options.readOnly) throw openTransaction()
  return { result: error ? undefined : collector.result(), error, stale, cleaned }
}

/**
 * Runs one statement by itself, or, `readOnly`, in a read-only transaction that is rolled back, and hands its result to
 * `answer` as soon as it is there. Resolves when the session is clean again; rejects when it must be closed.
 */
export const runStatement = async (
  running: Running,
  statement: Statement,
  limits: Limits & { readonly readOnly: boolean },
  answer: (outcome: Outcome) => void,
): Promise<void> => {
  const { client } = running
  using watch = createWatch(running, limits.timeoutMs)
  try {
    const values = await parametersOf(running, statement).catch((error: unknown) => {
      if (!isServerError(error)) throw error
      answer({ error })
      return undefined
    })
    // What does not even parse has left nothing behind.
    if (!values) return
    let tried = await attempt(client, statement.sql, values, limits)
    if (tried.stale) {
      await tried.cleaned
      tried = await attempt(client, statement.sql, values, limits)
    }
    const { result, error, cleaned } = tried
    if (!result) answer({ error: error as ServerError })
    else {
      const oids = result.fields.map(({ dataTypeID }) => dataTypeID)
      const types = running.types.of(running.volumeId)
      if (!oids.every(types.has)) {
        await cleaned
        await running.types.load(running.volumeId, client, oids)
      }
      answer({ result })
    }
    await cleaned
  } catch (error) {
    answer({ error })
    throw error
  }
  if (watch.stopped) throw new ConnectionLost("cancelled")
}
