import type { Selectable } from "kysely"
import type { Db } from "../../../kernel/db/database.ts"
import type { Tables } from "../../../kernel/db/tables.gen.ts"

export type SettingsRow = Selectable<Tables["email.settings"]>

/** Rows of email.settings: one an organization, or none while it has the defaults. */
export const settingsStore = (db: Db) => ({
  find: (organizationId: string): Promise<SettingsRow | undefined> =>
    db
      .selectFrom("email.settings")
      .where("organization_id", "=", organizationId)
      .selectAll()
      .executeTakeFirst(),

  findForUpdate: (organizationId: string): Promise<SettingsRow | undefined> =>
    db
      .selectFrom("email.settings")
      .where("organization_id", "=", organizationId)
      .selectAll()
      .forUpdate()
      .executeTakeFirst(),

  async put(row: SettingsRow): Promise<void> {
    const { organization_id: _, ...change } = row
    await db
      .insertInto("email.settings")
      .values(row)
      .onConflict(conflict => conflict.column("organization_id").doUpdateSet(change))
      .execute()
  },

  /** Switches own-domain delivery off. */
  async pause(organizationId: string, reason: "bounce_rate" | "complaint_rate", at: Date): Promise<void> {
    await db
      .updateTable("email.settings")
      .set({ own_domain_delivery_enabled: false, paused_at: at, paused_reason: reason, updated_at: at })
      .where("organization_id", "=", organizationId)
      .where("own_domain_delivery_enabled", "=", true)
      .execute()
  },
})
