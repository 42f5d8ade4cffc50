import type { Db } from "../../kernel/db/database.ts"
import { announceEndOfKeys, type KeyNews } from "./events.ts"
import { type KeyRow, keyStore } from "./store.ts"

/** Ends keys for good, in the transaction of whatever ends them. */
export const revokeKeys = async (db: Db, news: KeyNews, keys: readonly KeyRow[], now: Date) => {
  for (const { id, organization_id } of keys)
    await keyStore(db).update(organization_id, id, { revoked_at: now })
  await announceEndOfKeys({ db }, news, keys)
}
