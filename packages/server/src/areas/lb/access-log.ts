import { LB_LOGS_MAX } from "@svc/contract"

export interface LogEntry {
  readonly timestamp: string
  readonly request_id: string
  readonly client_ip: string
  readonly method: string
  readonly host: string
  readonly path: string
  readonly status: number
  readonly backend_id: string | null
  readonly attempts: number
  readonly duration_ms: number
  readonly error: string | null
}

/** The latest requests. */
export interface AccessLog {
  add(entry: LogEntry): void
  /** Newest first: those that came after the cursor. */
  list(after: number, limit: number): { readonly logs: LogEntry[]; readonly next_cursor: number }
}

export const createAccessLog = (): AccessLog => {
  const entries: LogEntry[] = []
  let added = 0
  return {
    add(entry) {
      // A ring: the place of the oldest.
      entries[added % LB_LOGS_MAX] = entry
      added++
    },
    list(after, limit) {
      const oldest = Math.max(0, added - LB_LOGS_MAX, Math.min(after, added))
      const logs: LogEntry[] = []
      for (let at = added - 1; at >= oldest && logs.length < limit; at--) {
        const entry = entries[at % LB_LOGS_MAX]
        if (entry) logs.push(entry)
      }
      return { logs, next_cursor: added }
    },
  }
}
