import type { KeyType } from "@svc/contract"
import type { Db } from "../../kernel/db/database.ts"
import { newId } from "../../kernel/id.ts"
import { newSecret, secretHash, visiblePrefix } from "./secret.ts"
import { type KeyRow, keyStore } from "./store.ts"

/** Stores a new key of these facts. The secret is not kept: whoever calls this shows it, this once. */
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
