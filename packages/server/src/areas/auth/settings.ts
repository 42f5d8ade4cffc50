import {
  ACCESS_TOKEN_SECONDS_DEFAULT,
  type areas,
  type Input,
  PASSWORD_LENGTH_MIN,
  SESSION_IDLE_SECONDS_DEFAULT,
  SESSION_LIFETIME_SECONDS_DEFAULT,
} from "@svc/contract"
import type { ProjectTenant } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Db } from "../../kernel/db/database.ts"
import { createPushedCache } from "../../kernel/pushed-cache.ts"

const TOPIC = "auth.settings"
const CACHED_MAX = 10_000

export type ChosenSettings = Input<(typeof areas.auth.specs)["putSettings"]>

export interface ProjectSettings extends Required<ChosenSettings> {
  readonly updatedAt: Date
}

/** What the projects chose, with defaults for the rest. */
export const createSettings = (needs: {
  readonly db: Db
  readonly changes: Changes
  readonly mode: "development" | "production"
}) => {
  const { db, changes, mode } = needs

  const complete = (chosen: ChosenSettings, updatedAt: Date): ProjectSettings => ({
    name: "Your application",
    signup: "open",
    confirm_email: mode === "production",
    anonymous: false,
    redirect_urls: [],
    password_length_min: PASSWORD_LENGTH_MIN,
    access_token_seconds: ACCESS_TOKEN_SECONDS_DEFAULT,
    session_idle_seconds: SESSION_IDLE_SECONDS_DEFAULT,
    session_lifetime_seconds: SESSION_LIFETIME_SECONDS_DEFAULT,
    mail_templates: {},
    ...chosen,
    updatedAt,
  })

  const cache = createPushedCache<{ readonly projectId: string; readonly settings: ProjectSettings }>({
    changes,
    topics: { [TOPIC]: "one" },
    read: async projectId => {
      const row = await db
        .selectFrom("auth.settings")
        .selectAll()
        .where("project_id", "=", projectId)
        .executeTakeFirst()
      const settings = complete((row?.chosen ?? {}) as ChosenSettings, row?.updated_at ?? new Date(0))
      return { projectId, settings }
    },
    idOf: ({ projectId }) => projectId,
    entriesMax: CACHED_MAX,
  })

  return {
    of: async (projectId: string): Promise<ProjectSettings> => (await cache.find(projectId)).settings,

    async put(tx: Db, { organizationId, projectId }: ProjectTenant, chosen: ChosenSettings, now: Date) {
      const row = { chosen: JSON.stringify(chosen), updated_at: now }
      await tx
        .insertInto("auth.settings")
        .values({ project_id: projectId, organization_id: organizationId, ...row })
        .onConflict(conflict => conflict.column("project_id").doUpdateSet(row))
        .execute()
      await changes.invalidate(tx, TOPIC, projectId)
      return complete(chosen, now)
    },
  }
}

export type AuthSettingsOf = ReturnType<typeof createSettings>
