import type { Call } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import type { Db } from "../../kernel/db/database.ts"
import { toIso } from "../../kernel/to-iso.ts"
import { approvalStore } from "../approvals/store.ts"
import type { PlatformEvents } from "../platform-events/platform-events.ts"
import type { KeyRow } from "./store.ts"

/** Receivers of key events: the caches of every process, and the webhooks of the organization. */
export interface KeyNews {
  readonly changes: Changes
  readonly platformEvents: PlatformEvents
}

type KeyEvent = "key.created" | "key.rotated" | "key.revoked" | "key.expiring"

export const emitKeyEvents = (
  db: Db,
  { platformEvents }: Pick<KeyNews, "platformEvents">,
  type: KeyEvent,
  keys: readonly KeyRow[],
): Promise<void> =>
  platformEvents.emit(
    db,
    ...keys.map(({ id, organization_id, project_id, name, prefix, expires_at }) => ({
      ...{ organizationId: organization_id, projectId: project_id, type },
      data: { key_id: id, name, prefix, expires_at: toIso(expires_at) },
    })),
  )

/** Tells that keys were revoked, and drops what they were waiting to do. */
export const announceEndOfKeys = async (call: Pick<Call, "db">, news: KeyNews, keys: readonly KeyRow[]) => {
  for (const { id } of keys) {
    await approvalStore(call.db).cancelOfKey(id)
    await news.changes.invalidate(call.db, "key", id)
  }
  await emitKeyEvents(call.db, news, "key.revoked", keys)
}
