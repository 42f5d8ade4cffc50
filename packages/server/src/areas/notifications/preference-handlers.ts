import type { areas, Input, Output } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { toIso } from "../../kernel/to-iso.ts"
import type { Recipients } from "./recipients.ts"
import { allSwitches, NO_PREFERENCES, type Preferences, quietHoursProblem } from "./rules.ts"
import type { Inbox } from "./store.ts"

type Specs = typeof areas.notifications.specs
type Payload = Output<Specs["getPreferences"]>

const toPreferences = (userId: string, kept: Preferences, updatedAt: Date | null): Payload => ({
  user_id: userId,
  channel_types: allSwitches(kept.channel_types),
  categories: { ...kept.categories },
  types: { ...kept.types },
  quiet_hours: kept.quiet_hours,
  digest: { ...kept.digest },
  updated_at: toIso(updatedAt),
})

const find = (db: Db, { organizationId, userId }: Inbox) =>
  db
    .selectFrom("notifications.preferences")
    .where("organization_id", "=", organizationId)
    .where("user_id", "=", userId)
    .select(["preferences", "updated_at"])
    .executeTakeFirst()

const replace = async (db: Db, { organizationId, userId }: Inbox, kept: Preferences, now: Date) => {
  const preferences = JSON.stringify(kept)
  await db
    .insertInto("notifications.preferences")
    .values({ organization_id: organizationId, user_id: userId, preferences, updated_at: now })
    .onConflict(conflict =>
      conflict.columns(["organization_id", "user_id"]).doUpdateSet({ preferences, updated_at: now }),
    )
    .execute()
}

const keptOf = (input: Input<Specs["updatePreferences"]>): Preferences => {
  const { channel_types = {}, categories = {}, types = {}, quiet_hours = null, digest } = input
  if (digest && digest.email !== "off")
    throw fault("not_implemented", {
      reason: "digests are not available; each notification is mailed separately",
    })
  const problem = quiet_hours && quietHoursProblem(quiet_hours)
  if (problem) throw fault("invalid_parameter", { reason: problem })
  const min_priority = quiet_hours?.min_priority ?? "urgent"
  return {
    ...{ channel_types, categories, types },
    quiet_hours: quiet_hours && ({ ...quiet_hours, min_priority } as Preferences["quiet_hours"]),
    digest: { email: "off" },
  }
}

export const preferenceHandlers = ({ recipients }: { readonly recipients: Recipients }) => ({
  async getPreferences({ user_id }: Input<Specs["getPreferences"]>, call: Call): Promise<Payload> {
    const inbox = await recipients.settingsOf(call, user_id)
    const row = await find(call.db, inbox)
    const kept = (row?.preferences ?? NO_PREFERENCES) as unknown as Preferences
    return toPreferences(inbox.userId, kept, row?.updated_at ?? null)
  },

  async updatePreferences(
    { user_id, ...input }: Input<Specs["updatePreferences"]>,
    call: Call,
  ): Promise<Payload> {
    const inbox = await recipients.settingsOf(call, user_id)
    const kept = keptOf(input)
    await replace(call.db, inbox, kept, call.now)
    call.describe({ targets: [{ type: "notification_preferences", id: inbox.userId }] })
    return toPreferences(inbox.userId, kept, call.now)
  },
})
