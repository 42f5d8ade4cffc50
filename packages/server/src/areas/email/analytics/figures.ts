import { sql } from "kysely"
import type { Db } from "../../../kernel/db/database.ts"
import type { Counts, Reputation } from "./rates.ts"

/** Whose mails of which time. */
export interface Scope {
  readonly organizationId: string
  /** Null: of all projects. */
  readonly projectId: string | null
  readonly template: string | null
  readonly from: Date
  /** Not included. */
  readonly to: Date
}

export interface DayCounts extends Counts {
  /** Of UTC; null: the whole period. */
  readonly date: string | null
}

const conditions = ({ organizationId, projectId, template, from, to }: Scope) => sql`
  organization_id = ${organizationId} AND created_at >= ${from} AND created_at < ${to}
  AND (${projectId}::uuid IS NULL OR project_id = ${projectId}::uuid)
  AND (${template}::text IS NULL OR template = ${template}::text)`

/** What was tried: handed over, or refused at once. A bounce that a later report told of was handed over before. */
const wasTried = sql`(event = 'sent' OR event = 'bounced' AND NOT details ? 'report')`

const isMachine = sql`coalesce((details->>'machine')::boolean, false)`

/**
 * Counts of each day that has events, and of the whole period, in one pass over its events. Who opened twice is one
 * unique open of the period, and of each day.
 */
export const countEvents = async (db: Db, scope: Scope): Promise<DayCounts[]> => {
  const { rows } = await sql<DayCounts>`
    WITH tallies AS (
      SELECT (created_at AT TIME ZONE 'UTC')::date AS day, event,
        CASE WHEN event IN ('opened', 'clicked') THEN recipient_id END AS who,
        count(*) AS number,
        count(*) FILTER (WHERE ${wasTried}) AS tried,
        count(*) FILTER (WHERE event = 'bounced' AND details->'bounce'->>'type' = 'permanent') AS permanent
      FROM email.events
      WHERE ${conditions(scope)} AND NOT (event IN ('opened', 'clicked') AND ${isMachine})
      GROUP BY 1, 2, 3)
    SELECT day::text AS date,
      coalesce(sum(tried), 0)::int8 AS sent,
      coalesce(sum(number) FILTER (WHERE event = 'delivered'), 0)::int8 AS delivered,
      coalesce(sum(number) FILTER (WHERE event = 'delivery_delayed'), 0)::int8 AS delayed,
      coalesce(sum(number) FILTER (WHERE event = 'bounced'), 0)::int8 AS bounced,
      coalesce(sum(permanent), 0)::int8 AS bounced_permanent,
      coalesce(sum(number) FILTER (WHERE event = 'complained'), 0)::int8 AS complained,
      coalesce(sum(number) FILTER (WHERE event = 'opened'), 0)::int8 AS opened,
      count(DISTINCT who) FILTER (WHERE event = 'opened') AS unique_opened,
      coalesce(sum(number) FILTER (WHERE event = 'clicked'), 0)::int8 AS clicked,
      count(DISTINCT who) FILTER (WHERE event = 'clicked') AS unique_clicked,
      coalesce(sum(number) FILTER (WHERE event = 'unsubscribed'), 0)::int8 AS unsubscribed,
      coalesce(sum(number) FILTER (WHERE event = 'suppressed'), 0)::int8 AS suppressed,
      coalesce(sum(number) FILTER (WHERE event = 'failed'), 0)::int8 AS failed
    FROM tallies
    GROUP BY GROUPING SETS ((day), ())
    ORDER BY day`.execute(db)
  return rows
}

export interface LinkClicks {
  readonly link: string
  readonly clicks: number
  readonly unique_clicks: number
}

const LINKS_MAX = 20

export const topLinks = async (db: Db, scope: Scope): Promise<LinkClicks[]> => {
  const { rows } = await sql<LinkClicks>`
    SELECT details->'click'->>'link' AS link, count(*) AS clicks, count(DISTINCT recipient_id) AS unique_clicks
    FROM email.events
    WHERE ${conditions(scope)} AND event = 'clicked' AND details->'click'->>'link' IS NOT NULL
    GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${LINKS_MAX}`.execute(db)
  return rows
}

/** Of mails from the organization's own domains. */
export const readReputation = async (db: Db, organizationId: string, from: Date): Promise<Reputation> => {
  const { rows } = await sql<Reputation>`
    SELECT count(*) FILTER (WHERE ${wasTried}) AS sent,
      count(*) FILTER (WHERE event = 'delivered') AS delivered,
      count(*) FILTER (WHERE event = 'bounced' AND details->'bounce'->>'type' = 'permanent') AS "bouncedPermanent",
      count(*) FILTER (WHERE event = 'complained') AS complained
    FROM email.events
    WHERE organization_id = ${organizationId} AND created_at >= ${from}
      AND event IN ('sent', 'delivered', 'bounced', 'complained')
      AND domain IN (SELECT domain FROM email.domains WHERE organization_id = ${organizationId})`.execute(db)
  return rows[0] ?? { sent: 0, delivered: 0, bouncedPermanent: 0, complained: 0 }
}

/** Recipients that mails were accepted for in a month, of which `month` is the first day. */
export const countSends = async (db: Db, organizationId: string, month: string): Promise<number> => {
  const { used } = await db
    .selectFrom("email.sends")
    .where("organization_id", "=", organizationId)
    .where("month", "=", month)
    .select(({ fn }) => fn.coalesce(fn.sum<number>("recipients"), sql<number>`0`).as("used"))
    .executeTakeFirstOrThrow()
  return Number(used)
}

/** Whether a template of this name can be sent from there, or was. */
export const knowsTemplate = async (
  db: Db,
  { organizationId, projectId }: Pick<Scope, "organizationId" | "projectId">,
  name: string,
): Promise<boolean> => {
  const { rows } = await sql<{ known: boolean }>`
    SELECT EXISTS (SELECT FROM email.templates WHERE organization_id = ${organizationId} AND name = ${name}
        AND (${projectId}::uuid IS NULL OR project_id IS NULL OR project_id = ${projectId}::uuid))
      OR EXISTS (SELECT FROM email.messages WHERE organization_id = ${organizationId} AND template = ${name}
        AND (${projectId}::uuid IS NULL OR project_id = ${projectId}::uuid))
      AS known`.execute(db)
  return rows[0]?.known ?? false
}
