import type pg from "pg"
import {
  asOptions,
  OWNER_ROLE,
  OWNER_SESSION_ROLE,
  type PgVersion,
  pinnedSettings,
  READER_ROLE,
} from "../../ports/engine/port.ts"
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

const loginRoles: Readonly<Record<SessionRole, string>> = { owner: OWNER_SESSION_ROLE, reader: READER_ROLE }

/** Values come in the forms that are parsed here, and strings mean the same to the server as to the statements' parser. */
export const VALUE_FORMS = {
  standard_conforming_strings: "on",
  DateStyle: "ISO,MDY",
  IntervalStyle: "postgres",
  bytea_output: "hex",
  extra_float_digits: "1",
}

/**
 * How a session is opened, and what it starts with and is reset to, whatever the tenant has set for its roles or its
 * database: values come in the forms that are parsed here, and strings mean the same to the server as to the parser
 * that judges statements. What a tenant sets for the database beyond that (a search path, a time zone) holds here too.
 */
export const sessionConfig = (role: SessionRole, version: PgVersion) => ({
  user: loginRoles[role],
  statement_timeout: STATEMENT_TIMEOUT_MS,
  options: asOptions({
    ...pinnedSettings(version),
    role: role === "owner" ? OWNER_ROLE : "none",
    default_transaction_read_only: role === "owner" ? "off" : "on",
    synchronous_commit: "on",
    ...VALUE_FORMS,
  }),
})

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
