import type { Db } from "../../kernel/db/database.ts"
import { newId } from "../../kernel/id.ts"
import { SESSION_LIFETIME_MS } from "./rules.ts"
import { accountStore, type SessionRow } from "./store.ts"
import { newToken, tokenHash } from "./token.ts"

export const SESSION_PREFIX = "svc_sess_"
/** Past this many the ones left alone longest end. */
const SESSIONS_MAX = 50

export interface SessionFacts {
  readonly userId: string
  readonly ip: string
  readonly userAgent: string | null
  readonly now: Date
}

/** Opens a session for a person who has just authenticated. The token is not stored. */
export const openSession = async (
  db: Db,
  facts: SessionFacts,
): Promise<{ row: SessionRow; token: string }> => {
  const { userId, ip, userAgent, now } = facts
  const token = newToken(SESSION_PREFIX)
  const row: SessionRow = {
    id: newId(now.getTime()),
    user_id: userId,
    token_hash: tokenHash(token),
    ip,
    user_agent: userAgent,
    created_at: now,
    authenticated_at: now,
    last_used_at: now,
    expires_at: new Date(now.getTime() + SESSION_LIFETIME_MS),
  }
  await accountStore(db).insertSession(row)
  await accountStore(db).deleteSurplusSessions(userId, SESSIONS_MAX)
  return { row, token }
}
