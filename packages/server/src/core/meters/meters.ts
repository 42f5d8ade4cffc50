import type { Meter } from "@svc/contract"
import { sql } from "kysely"
import type { Principal } from "../../kernel/call.ts"
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

/** Requests of one key to one area that were answered with one status. */
interface KeyCount {
  readonly organizationId: string
  readonly keyId: string
  readonly day: string
  readonly area: string
  readonly status: number
  requests: number
}

/** Usage that comes from no call: time that something was awake, bytes that it held. */
export interface BackgroundMeters {
  count(usage: {
    organizationId: string
    projectId: string | null
    metric: Meter
    quantity: number
    at: Date
  }): void
}

export interface UsageMeters extends Meters, BackgroundMeters {
  /** Adds the counts that gathered to the stored ones. Called every second and when the platform stops. */
  flush(): Promise<void>
}

/** In one statement: what failed is counted again as a whole. */
const addToStored = (db: Db, counts: readonly Count[], keyCounts: readonly KeyCount[]) =>
  sql`
  WITH requests AS (
    INSERT INTO core.key_requests (organization_id, key_id, day, area, status, requests)
    SELECT * FROM unnest(
      ${keyCounts.map(count => count.organizationId)}::uuid[], ${keyCounts.map(count => count.keyId)}::uuid[],
      ${keyCounts.map(count => count.day)}::date[], ${keyCounts.map(count => count.area)}::text[],
      ${keyCounts.map(count => count.status)}::int2[], ${keyCounts.map(count => count.requests)}::int8[])
    ON CONFLICT (organization_id, key_id, day, area, status)
    DO UPDATE SET requests = core.key_requests.requests + excluded.requests
  )
  INSERT INTO core.usage (organization_id, project_id, key_id, metric, day, quantity)
  SELECT * FROM unnest(
    ${counts.map(count => count.organizationId)}::uuid[], ${counts.map(count => count.projectId)}::uuid[],
    ${counts.map(count => count.keyId)}::uuid[], ${counts.map(count => count.metric)}::text[],
    ${counts.map(count => count.day)}::date[], ${counts.map(count => count.quantity)}::float8[])
  ON CONFLICT (organization_id, day, metric, key_id, project_id)
  DO UPDATE SET quantity = core.usage.quantity + excluded.quantity`.execute(db)

/** What one caller did in one project on one day, since the last flush. */
interface Tally {
  readonly organizationId: string
  readonly projectId: string
  readonly keyId: string
  readonly dayNumber: number
  readonly quantities: Map<Meter, number>
  /** Of a key, by area and status. */
  readonly requests: Map<string, Map<number, number>>
}

const NO_REQUESTS: Tally["requests"] = new Map()

const dayOf = (dayNumber: number): string => new Date(dayNumber * DAY_MS).toISOString().slice(0, 10)

const toCounts = ({ organizationId, projectId, keyId, dayNumber, quantities }: Tally): Count[] => {
  const day = dayOf(dayNumber)
  return [...quantities].map(([metric, quantity]) => ({
    organizationId,
    projectId,
    keyId,
    metric,
    day,
    quantity,
  }))
}

const toKeyCounts = ({ organizationId, keyId, dayNumber, requests }: Tally): KeyCount[] => {
  const day = dayOf(dayNumber)
  return [...requests].flatMap(([area, byStatus]) =>
    [...byStatus].map(([status, count]) => ({ organizationId, keyId, day, area, status, requests: count })),
  )
}

const nameOf = ({ organizationId, day, metric, keyId, projectId }: Count): string =>
  [organizationId, day, metric, keyId, projectId].join("|")

const keyNameOf = ({ organizationId, keyId, day, area, status }: KeyCount): string =>
  [organizationId, keyId, day, area, status].join("|")

/** One count a row: a key that was read anew from the database is another principal, and still the same key. */
const merged = <C>(counts: readonly C[], name: (count: C) => string, add: (to: C, more: C) => void): C[] => {
  const byName = new Map<string, C>()
  for (const count of counts) {
    const known = byName.get(name(count))
    if (known) add(known, count)
    else byName.set(name(count), { ...count })
  }
  // Sorted: two processes that flush at once lock the rows in the same order.
  return [...byName].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, count]) => count)
}

const mergedCounts = (counts: readonly Count[]) =>
  merged(counts, nameOf, (to, { quantity }) => {
    to.quantity += quantity
  })

const mergedKeyCounts = (counts: readonly KeyCount[]) =>
  merged(counts, keyNameOf, (to, { requests }) => {
    to.requests += requests
  })

/**
 * Counts by organization, project, key, metric and day. They gather in memory and are added in one statement a
 * second: a crash loses at most that second of counts, and never a write's own effect.
 */
export const createMeters = (db: Db): UsageMeters => {
  let tallies: Tally[] = []
  let current = new Map<Principal, Tally>()
  /** Counts whose flush failed. */
  let kept: Count[] = []
  let keptRequests: KeyCount[] = []

  /** Most callers stay in one project, so the last tally of a principal is nearly always the one. */
  const tallyOf = ({ organization, project, principal, nowMs }: Exchange): Tally | undefined => {
    if (!organization) return undefined
    const projectId = project?.id ?? NONE
    const dayNumber = Math.floor(nowMs / DAY_MS)
    const last = current.get(principal)
    if (last && last.projectId === projectId && last.dayNumber === dayNumber) return last
    const keyId = principal.key?.id ?? NONE
    const tally = {
      organizationId: organization.id,
      ...{ projectId, keyId, dayNumber },
      quantities: new Map<Meter, number>(),
      requests: keyId === NONE ? NO_REQUESTS : new Map<string, Map<number, number>>(),
    }
    tallies.push(tally)
    current.set(principal, tally)
    return tally
  }

  const add = (exchange: Exchange, metric: Meter, quantity: number) => {
    const quantities = tallyOf(exchange)?.quantities
    quantities?.set(metric, (quantities.get(metric) ?? 0) + quantity)
  }

  const addRequest = (exchange: Exchange, status: number) => {
    const tally = tallyOf(exchange)
    if (!tally || tally.keyId === NONE) return
    const { area } = exchange.operation
    let byStatus = tally.requests.get(area)
    if (!byStatus) {
      byStatus = new Map()
      tally.requests.set(area, byStatus)
    }
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
  }

  return {
    request(exchange, status) {
      addRequest(exchange, status)
      add(exchange, "requests", 1)
      if (status >= 400) add(exchange, "request_errors", 1)
    },
    add,

    count({ organizationId, projectId, metric, quantity, at }) {
      const dayNumber = Math.floor(at.getTime() / DAY_MS)
      const quantities = new Map([[metric, quantity]])
      const whose = { organizationId, projectId: projectId ?? NONE, keyId: NONE }
      tallies.push({ ...whose, dayNumber, quantities, requests: NO_REQUESTS })
    },

    async flush() {
      const counts = mergedCounts([...kept, ...tallies.flatMap(toCounts)])
      const keyCounts = mergedKeyCounts([...keptRequests, ...tallies.flatMap(toKeyCounts)])
      if (counts.length === 0) return
      tallies = []
      kept = []
      keptRequests = []
      current = new Map()
      try {
        await addToStored(db, counts, keyCounts)
      } catch (error) {
        kept = [...kept, ...counts]
        keptRequests = [...keptRequests, ...keyCounts]
        throw error
      }
    },
  }
}
