import type { KeyType } from "@svc/contract"
import type { Db } from "../../kernel/db/database.ts"
import { newId } from "../../kernel/id.ts"
import { newSecret, secretHash, visiblePrefix } from "./secret.ts"
import { type KeyRow, keyStore } from "./store.ts"

/** A key that may do all that its scopes say, for as long as it is not revoked. */
export const unrestricted = {
  organization_reach: false,
  read_only: false,
  require_approval: false,
  ip_allowlist: [],
  expires_at: null,
  last_used_at: null,
  rotated_from_id: null,
  grace_expires_at: null,
  revoked_at: null,
} satisfies Partial<KeyRow>

/** Stores a new key. The secret is not stored: the caller shows it once. */
export const mintKey = async (
  db: Db,
  now: Date,
  facts: Omit<KeyRow, "id" | "prefix" | "secret_hash" | "created_at">,
): Promise<{ row: KeyRow; secret: string }> => {
  const type = facts.type as KeyType
  const secret = newSecret(type)
  const row: KeyRow = {
    ...facts,
    id: newId(),
    prefix: visiblePrefix(type, secret),
    secret_hash: Buffer.from(secretHash(secret), "base64"),
    created_at: now,
  }
  await keyStore(db).insert(row)
  return { row, secret }
}
