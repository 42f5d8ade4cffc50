/** Rows as they come: one JSON text a line, no faster than the caller reads. */
import { Readable } from "node:stream"
import { toFault } from "../../services/postgres/failures.ts"
import {
  ConnectionLost,
  type Field,
  internalsOf,
  runUnits,
  type ServerError,
} from "../../services/postgres/pipeline.ts"
import { discardAll } from "../../services/postgres/session-state.ts"
import { STATEMENT_TIMEOUT_MS } from "../../services/postgres/sessions.ts"
import type { Target } from "../../services/postgres/target.ts"
import { type Executed, type Execution, type ExecutorNeeds, roleOf } from "./executor.ts"
import { columnsOf, createRowWriter, metaOf, toFailure } from "./results.ts"
import {
  createWatch,
  describe,
  parametersOf,
  type Running,
  readTag,
  type Statement,
  sendBegin,
} from "./statement.ts"

const ROWS_AT_ONCE = 500

export interface StreamOptions {
  readonly arrayMode: boolean
  readonly queryId: string
  /** What came of it; the rows themselves are not kept. */
  readonly ended: (outcome: Executed | { readonly error: unknown }) => void
}

/** Lines that a slow reader holds up: `write` resolves when there is room for more, and false when nobody reads. */
const createLines = () => {
  let wake: (() => void) | undefined
  const readable = new Readable({
    highWaterMark: 256 * 1024,
    read() {
      wake?.()
    },
    destroy(error, done) {
      wake?.()
      done(error)
    },
  })
  return {
    readable,
    async write(lines: readonly unknown[]): Promise<boolean> {
      if (lines.length > 0 && !readable.destroyed) {
        const text = lines.map(line => `${JSON.stringify(line)}\n`).join("")
        if (!readable.push(text)) {
          await new Promise<void>(resolve => {
            wake = resolve
          })
          wake = undefined
        }
      }
      return !readable.destroyed
    },
  }
}

/** Executes a portal part by part; `take` gets each part and says whether to go on. */
const fetchParts = async (
  { client }: Running,
  sql: string,
  values: readonly (string | null)[],
  readOnly: boolean,
  take: (rows: (string | null)[][]) => Promise<boolean>,
): Promise<{ tag: string | null; rows: number; error: ServerError | undefined }> => {
  const wire = internalsOf(client).connection
  let part: (string | null)[][] = []
  let rows = 0
  let tag: string | null = null
  let skip = readOnly ? 1 : 0
  let taken = Promise.resolve(true)
  const hand = () => {
    const full = part
    part = []
    rows += full.length
    taken = taken.then(goOn => goOn && take(full))
    return taken
  }
  const send = () => {
    wire.execute({ portal: "", rows: ROWS_AT_ONCE })
    wire.flush()
  }
  const [ended] = runUnits(
    client,
    [
      {
        row(texts) {
          part.push(texts)
        },
        suspended() {
          hand().then(
            goOn => (goOn ? send() : wire.sync()),
            () => wire.stream.destroy(),
          )
        },
        complete(told) {
          if (skip > 0) {
            skip -= 1
            return
          }
          tag = told
          void hand()
          wire.sync()
        },
        failed: () => wire.sync(),
      },
    ],
    () => {
      if (readOnly) sendBegin(wire, "BEGIN READ ONLY")
      wire.parse({ text: sql })
      wire.bind({ values })
      send()
    },
  )
  const end = await ended
  await taken
  return { tag, rows, error: end?.error }
}

/**
 * Starts the statement and resolves with the stream of its lines when the first part is there; before that it throws
 * faults, afterwards the last line says what went wrong.
 */
export const streamStatement = async (
  needs: ExecutorNeeds,
  target: Target,
  statement: Statement,
  execution: Execution,
  options: StreamOptions,
): Promise<Readable> => {
  const { readOnly, timeoutMs, signal } = execution
  if (readOnly) await needs.guard.check(statement.sql, readOnly)
  const begun = Promise.withResolvers<Readable>()
  const lines = createLines()
  signal?.addEventListener("abort", () => lines.readable.destroy(), { once: true })
  const volumeId = target.volume.id

  const run = async (running: Running, wakeMs: number) => {
    const { client } = running
    const startedMs = performance.now()
    if (timeoutMs !== STATEMENT_TIMEOUT_MS)
      await client.query(`SET statement_timeout = ${Math.trunc(timeoutMs)}`)
    const values = await parametersOf(running, statement)
    const { fields } = await describe(client, statement.sql)
    await needs.types.load(
      volumeId,
      client,
      fields.map(({ dataTypeID }: Field) => dataTypeID),
    )
    const types = needs.types.of(volumeId)
    const toRow = createRowWriter(fields, types, options.arrayMode)
    let isFirst = true
    const take = async (rows: (string | null)[][]): Promise<boolean> => {
      const head = isFirst ? [{ columns: columnsOf(fields, types) }] : []
      isFirst = false
      begun.resolve(lines.readable)
      return lines.write([...head, ...rows.map(toRow)])
    }
    const { tag, rows, error } = await fetchParts(running, statement.sql, values, readOnly !== false, take)
    if (error) throw error
    const { command, count } = tag === null ? { command: null, count: null } : readTag(tag)
    const rowCount = fields.length > 0 ? rows : count
    const result = { fields, rows: [], command, rowCount, truncated: false }
    const executed: Executed = { result, durationMs: performance.now() - startedMs, wakeMs }
    const meta = metaOf(executed, options.queryId, target.branchId)
    await lines.write([{ row_count: rowCount, command, truncated: false, meta }])
    lines.readable.push(null)
    options.ended(executed)
  }

  const fail = async (error: unknown) => {
    const known = toFault(error, { readOnly, timeoutMs })
    options.ended({ error: known })
    begun.reject(known)
    await lines.write([{ error: toFailure(known) }])
    lines.readable.push(null)
  }

  needs.sessions
    .use(
      target,
      roleOf(readOnly),
      async ({ client, wakeMs }) => {
        const leaving = new AbortController()
        lines.readable.once("close", () => leaving.abort())
        const signals = AbortSignal.any([leaving.signal, ...(signal ? [signal] : [])])
        const running = { client, volumeId, types: needs.types, signal: signals }
        using watch = createWatch(running, timeoutMs)
        await run(running, wakeMs)
        await client.query("ROLLBACK")
        await discardAll(client)
        if (watch.stopped) throw new ConnectionLost("cancelled")
      },
      { ...(signal && { signal }), cleaned: true },
    )
    .catch(fail)
  return begun.promise
}
