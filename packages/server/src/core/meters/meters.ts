import type { Meter } from "@svc/contract"
import { sql } from "kysely"
import type { Db } from "../../kernel/db/database.ts"
import type { Exchange } from "../../kernel/exchange.ts"
import type { Meters } from "../../kernel/needs.ts"

/** No project, or no key: a null would not do in a primary key. */
export const NONE = "00000000-0000-0000-0000-000000000000"

const DAY_MS = 86_400_000

interface Count {
  readonly organizationId: string
  readonly projectId: string
  readonly keyId: string
  readonly metric: Meter
  readonly day: string
  quantity: number
}

export interface UsageMeters extends Meters {
  /** Adds the counts that gathered to the stored ones. Called every second and when the platform stops. */
  flush(): Promise<void>
}

const dayOf = (() => {
  let known = -1
  let text = ""
  return (nowMs: number): string => {
    const day = Math.floor(nowMs / DAY_MS)
    if (day !== known) {
      known = day
      text = new Date(nowMs).toISOString().slice(0, 10)
    }
    return text
  }
})()

const add = (db: Db, counts: readonly Count[]) =>
  sql`
  INSERT INTO core.usage (organization_id, project_id, key_id, metric, day, quantity)
  SELECT * FROM unnest(
    ${counts.map(count => count.organizationId)}::uuid[], ${counts.map(count => count.projectId)}::uuid[],
    ${counts.map(count => count.keyId)}::uuid[], ${counts.map(count => count.metric)}::text[],
    ${counts.map(count => count.day)}::date[], ${counts.map(count => count.quantity)}::float8[])
  ON CONFLICT (organization_id, day, metric, key_id, project_id)
  DO UPDATE SET quantity = core.usage.quantity + excluded.quantity`.execute(db)

/**
 * Counts by organization, project, key, metric and day. They gather in memory and are added in one statement a
 * second: a crash loses at most that second of counts, and never a write's own effect.
 */
export const createMeters = (db: Db): UsageMeters => {
  let counts = new Map<string, Count>()

  const keep = (name: string, count: Count) => {
    const known = counts.get(name)
    if (known) known.quantity += count.quantity
    else counts.set(name, count)
  }

  const count = ({ organization, project, principal, nowMs }: Exchange, metric: Meter, quantity: number) => {
    if (!organization) return
    const projectId = project?.id ?? NONE
    const keyId = principal.key?.id ?? NONE
    const day = dayOf(nowMs)
    const name = `${keyId}|${metric}|${projectId}|${organization.id}|${day}`
    const known = counts.get(name)
    if (known) known.quantity += quantity
    else counts.set(name, { organizationId: organization.id, projectId, keyId, metric, day, quantity })
  }

  return {
    request(exchange, status) {
      count(exchange, "requests", 1)
      if (status >= 400) count(exchange, "request_errors", 1)
    },
    add: count,

    async flush() {
      if (counts.size === 0) return
      const gathered = counts
      counts = new Map()
      try {
        // Sorted: two processes that flush at once lock the rows in the same order.
        await add(
          db,
          [...gathered].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value),
        )
      } catch (error) {
        for (const [name, value] of gathered) keep(name, value)
        throw error
      }
    },
  }
}
