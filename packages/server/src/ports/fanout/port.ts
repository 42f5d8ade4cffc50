/**
 * Wakes the processes of one installation past what PostgreSQL's own NOTIFY should carry. PostgreSQL remains the record:
 * what is new is there, and this only says where to look.
 *
 * Promises, tested by `conformance.ts`:
 *
 * - Everybody: each process that subscribes hears what any of them tells, its own included, once while nothing breaks.
 * - Order: what one process tells of a topic is heard in that order.
 * - Loss is known: after a time in which news may have been missed every listener hears `undefined`.
 * - Quiet: an engine that is away delays nobody: `tell` rejects with `unavailable` in bounded time, and when the engine
 *   is back news are heard again.
 */
import { openedToken } from "../../kernel/token.ts"

export interface FanoutPort extends AsyncDisposable {
  /** At most 200 ids of 36 characters, none with a comma. */
  tell(topic: string, ids: readonly string[]): Promise<void>
  /** `undefined`: anything may be new. A topic is lower-case words with dots, hyphens or underscores between. */
  subscribe(topic: string, hear: (ids: readonly string[] | undefined) => void): void
  health(): { readonly ok: boolean; readonly reason?: string }
}

/** Undefined where PostgreSQL itself carries the news. */
export const fanoutPort = openedToken<FanoutPort | undefined>("fanout")
