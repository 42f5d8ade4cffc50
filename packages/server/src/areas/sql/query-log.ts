/** The log of statements: gathered in memory, written once a second, kept for a week. */

import type { Clock } from "../../kernel/clock.ts"
import type { Db } from "../../kernel/db/database.ts"
import { every, stopAll } from "../../kernel/every.ts"
import { newId } from "../../kernel/id.ts"
import type { Logger } from "../../kernel/log.ts"
import type { Target } from "../../services/postgres/target.ts"
import { createNormalize, type Normalize } from "./normalize.ts"
import { type QueryLogRow, queryLogStore } from "./query-log-store.ts"

/** One statement and what became of it. */
export interface LoggedCall {
  readonly target: Pick<Target, "organizationId" | "projectId" | "databaseId" | "branchId">
  /** As it was sent; only its normal form is kept. */
  readonly sql: string
  readonly command: string | null
  readonly sqlstate: string | null
  readonly error: string | null
  readonly rows: number | null
  readonly startedAtMs: number
  readonly durationMs: number
  readonly wakeMs: number
  readonly source: "http" | "wire"
  readonly keyId: string | null
  readonly user: string | null
  readonly applicationName: string | null
  readonly clientAddress: string | null
  readonly readOnly: boolean
  readonly requestId: string | null
}

/** What a connection of the wire protocol reports. */
export interface LoggedWireCall {
  readonly branchId: string
  readonly user: string
  readonly applicationName: string
  readonly clientAddress: string
  readonly sql: string
  readonly startedAtMs: number
  readonly durationMs: number
  readonly rows: number | null
  readonly sqlstate: string | null
  readonly error: string | null
  readonly command: string
}

export interface QueryLog extends AsyncDisposable {
  readonly normalize: Normalize
  record(call: LoggedCall): void
  /** Calls to branches that `branchOf` does not know are left out. */
  recordWire(
    calls: readonly LoggedWireCall[],
    branchOf: (branchId: string) => LoggedCall["target"] | undefined,
  ): void
  /** Writes what has gathered. */
  flush(): Promise<void>
}

const FLUSH_EVERY_MS = 1_000
const WAITING_MAX = 20_000
const WAITING_CHARACTERS_MAX = 32 * 1024 * 1024
const WRITTEN_AT_ONCE_MAX = 2_000
/** Statements are normalized when they are written, and no more of a text than this is kept until then. */
const SQL_LENGTH_MAX = 50_000
const TEXT_LENGTH_MAX = 500

const PRUNE_EVERY_MS = 60_000
const KEPT_MS = 7 * 86_400_000
const KEPT_PER_TENANT_MAX = 1_000_000
const PRUNED_MAX = 20_000

/** Data exceptions and syntax errors quote what they stumbled over, which may be a constant. */
const withoutValues = (message: string, sqlstate: string | null): string =>
  sqlstate?.startsWith("22") || sqlstate === "42601" ? message.replaceAll(/"(?:[^"]|"")*"/g, '"?"') : message

/** PostgreSQL's text holds no null characters, and a client may name itself as it likes. */
const bounded = (text: string | null): string | null =>
  text === null ? null : text.slice(0, TEXT_LENGTH_MAX).replaceAll("\0", "").toWellFormed()

const toRow = (call: LoggedCall, normalize: Normalize): QueryLogRow => {
  const { sql, queryId } = normalize(call.sql)
  return {
    id: newId(),
    tenant_id: call.target.organizationId,
    project_id: call.target.projectId,
    database_id: call.target.databaseId,
    branch_id: call.target.branchId,
    query_id: queryId,
    sql: sql.replaceAll("\0", "").toWellFormed(),
    command: bounded(call.command),
    sqlstate: call.sqlstate,
    error: bounded(call.error === null ? null : withoutValues(call.error, call.sqlstate)),
    rows: call.rows,
    duration_ms: call.durationMs,
    wake_ms: call.wakeMs,
    started_at: new Date(call.startedAtMs),
    source: call.source,
    key_id: call.keyId,
    user_name: bounded(call.user),
    application_name: bounded(call.applicationName),
    client_addr: bounded(call.clientAddress),
    read_only: call.readOnly,
    request_id: bounded(call.requestId),
  }
}

const ofWire = (call: LoggedWireCall, target: LoggedCall["target"]): LoggedCall => ({
  ...call,
  target,
  command: call.command || null,
  wakeMs: 0,
  source: "wire",
  keyId: null,
  readOnly: false,
  requestId: null,
})

export const createQueryLog = (needs: { db: Db; clock: Clock; log: Logger }): QueryLog => {
  const { db, clock, log } = needs
  const store = queryLogStore(db)
  const normalize = createNormalize()
  let waiting: LoggedCall[] = []
  let characters = 0
  let missed = 0
  let writing: Promise<void> | undefined

  const record = (call: LoggedCall) => {
    const sql = call.sql.length > SQL_LENGTH_MAX ? call.sql.slice(0, SQL_LENGTH_MAX) : call.sql
    if (waiting.length >= WAITING_MAX || characters + sql.length > WAITING_CHARACTERS_MAX) {
      missed += 1
      return
    }
    characters += sql.length
    waiting.push(sql === call.sql ? call : { ...call, sql })
  }

  const write = async () => {
    const calls = waiting
    const lost = missed
    waiting = []
    characters = 0
    missed = 0
    if (lost > 0) log.warn({ statements: lost }, "query log is over its limit; statements were not recorded")
    for (let at = 0; at < calls.length; at += WRITTEN_AT_ONCE_MAX) {
      try {
        await store.insert(calls.slice(at, at + WRITTEN_AT_ONCE_MAX).map(call => toRow(call, normalize)))
      } catch (error) {
        // A log must not keep what it cannot write until memory is full.
        log.warn(
          { err: error, statements: Math.min(WRITTEN_AT_ONCE_MAX, calls.length - at) },
          "writing the query log failed; statements were not recorded",
        )
      }
    }
  }

  const flush = async (): Promise<void> => {
    await writing
    if (waiting.length === 0 && missed === 0) return
    writing = write().finally(() => {
      writing = undefined
    })
    await writing
  }

  const prune = async () => {
    await store.prune(new Date(clock.now() - KEPT_MS), KEPT_PER_TENANT_MAX, PRUNED_MAX)
  }

  const works = [
    every(clock, FLUSH_EVERY_MS, flush),
    every(clock, PRUNE_EVERY_MS, prune, {
      log,
      failure: "deleting old query log entries failed; will retry",
    }),
  ]

  return {
    normalize,
    record,
    recordWire(calls, branchOf) {
      for (const call of calls) {
        const target = branchOf(call.branchId)
        if (target) record(ofWire(call, target))
      }
    },
    flush,
    async [Symbol.asyncDispose]() {
      await stopAll(works)
      await flush()
    },
  }
}
