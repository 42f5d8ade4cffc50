import type pg from "pg"
import type { Target } from "./target.ts"

/** `owner` owns everything in the database; `reader` may read everything, and write nothing. */
export type SessionRole = "owner" | "reader"

export interface Session {
  /** Logged in, in no transaction, without settings of an earlier user. */
  readonly client: pg.PoolClient
  /** How long this call waited for its database to start; 0 when it was awake. */
  readonly wakeMs: number
}

/** How long one statement may run unless its caller says otherwise. */
export const STATEMENT_TIMEOUT_MS = 30_000

/**
 * What every session starts with and is reset to, whatever the database or the role is set to: values come in the
 * forms that are parsed here, and strings mean the same to the server as to the parser that judges statements.
 */
export const SESSION_SETTINGS = {
  statement_timeout: STATEMENT_TIMEOUT_MS,
  options: [
    "standard_conforming_strings=on",
    "DateStyle=ISO,MDY",
    "IntervalStyle=postgres",
    "bytea_output=hex",
    "extra_float_digits=1",
  ]
    .map(setting => `-c ${setting}`)
    .join(" "),
} as const

export interface SessionOptions {
  readonly signal?: AbortSignal
  /** `work` cleans the session itself, so that `DISCARD ALL` need not. */
  readonly cleaned?: boolean
}

export interface Sessions {
  /**
   * Wakes the branch's database and lends a pooled connection for the length of `work`, during which the database stays
   * awake. Afterwards the session is cleaned (`DISCARD ALL`), or closed when it broke or `work` left it in doubt by
   * throwing. Throws `service_unavailable` (503) when the database cannot be started, and `rate_limited` (429) when all
   * its connections are taken for too long.
   */
  use<Result>(
    target: Target,
    role: SessionRole,
    work: (session: Session) => Promise<Result>,
    options?: SessionOptions,
  ): Promise<Result>
}
