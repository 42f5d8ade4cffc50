import type { ScheduleDefinition } from "../../kernel/jobs/jobs.ts"
import type { Context } from "./context.ts"
import {
  ANONYMOUS_KEPT_MS,
  KEY_LIFETIME_MS,
  MAILS_KEPT_MS,
  OLD_KEY_PUBLISHED_MS,
  SOURCES_KEPT_MS,
  UNVERIFIED_FACTORS_KEPT_MS,
} from "./rules.ts"

const EVERY_MS = 3_600_000

/** What a project has; the rest goes with its users. */
const TABLES = [
  "auth.users",
  "auth.mails",
  "auth.signing_keys",
  "auth.provider_sign_ins",
  "auth.providers",
  "auth.settings",
] as const

/** Deletes what has expired and what belongs to deleted projects, and rotates keys that have signed long enough. */
export const pruning = ({ database, db, keys, clock }: Context): ScheduleDefinition => {
  const before = (ms: number) => new Date(clock.now() - ms)

  const deleteExpired = async (now: Date): Promise<void> => {
    await db
      .deleteFrom("auth.mails")
      .where("expires_at", "<", now)
      .where("created_at", "<", before(MAILS_KEPT_MS))
      .execute()
    await db.deleteFrom("auth.provider_sign_ins").where("expires_at", "<", now).execute()
    await db.deleteFrom("auth.waiting").where("expires_at", "<", now).execute()
    await db
      .deleteFrom("auth.sessions")
      .where(eb => eb.or([eb("idle_until", "<", now), eb("expires_at", "<", now)]))
      .execute()
    await db
      .deleteFrom("auth.factors")
      .where("status", "=", "unverified")
      .where("created_at", "<", before(UNVERIFIED_FACTORS_KEPT_MS))
      .execute()
    // Nothing signs them in again.
    await db
      .deleteFrom("auth.users")
      .where("is_anonymous", "=", true)
      .where("last_sign_in_at", "<", before(ANONYMOUS_KEPT_MS))
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom("auth.sessions").select("id").whereRef("user_id", "=", "auth.users.id"))),
      )
      .execute()
    await db.deleteFrom("auth.sources").where("seen_at", "<", before(SOURCES_KEPT_MS)).execute()
  }

  /** Keys of the project are revoked at once, so that nobody reaches its users meanwhile. */
  const deleteOfProjects = async (): Promise<void> => {
    const { rows } = await database.pool.query<{ id: string }>(
      `SELECT project.id FROM core.projects project
       JOIN core.organizations organization ON organization.id = project.organization_id
       WHERE (project.deleted_at IS NOT NULL OR organization.deleted_at IS NOT NULL)
         AND (EXISTS (SELECT FROM auth.users WHERE project_id = project.id)
           OR EXISTS (SELECT FROM auth.signing_keys WHERE project_id = project.id)
           OR EXISTS (SELECT FROM auth.mails WHERE project_id = project.id)
           OR EXISTS (SELECT FROM auth.providers WHERE project_id = project.id)
           OR EXISTS (SELECT FROM auth.settings WHERE project_id = project.id))`,
    )
    for (const { id } of rows) {
      for (const table of TABLES) await db.deleteFrom(table).where("project_id", "=", id).execute()
    }
  }

  const rotateAged = async (now: Date): Promise<void> => {
    for (const { project_id, organization_id } of await keys.aged(db, before(KEY_LIFETIME_MS)))
      await database.transaction(tx =>
        keys.rotate(tx, { organizationId: organization_id, projectId: project_id }, now),
      )
  }

  return {
    name: "auth.prune",
    every: EVERY_MS,
    async run() {
      const now = new Date(clock.now())
      await deleteExpired(now)
      await deleteOfProjects()
      await keys.prune(db, before(OLD_KEY_PUBLISHED_MS))
      await rotateAged(now)
    },
  }
}
