import type pg from "pg"
import type { Target } from "./targets.ts"

/** `owner` owns everything in the database; `reader` may read everything, and write nothing. */
export type SessionRole = "owner" | "reader"

export interface Session {
  /** Logged in, in no transaction, without settings of an earlier user. */
  readonly client: pg.PoolClient
  /** How long this call waited for its database to start; 0 when it was awake. */
  readonly wakeMs: number
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
    options?: { readonly signal?: AbortSignal },
  ): Promise<Result>
}
