import type { areas, Output } from "@svc/contract"
import type { SessionRow } from "./store.ts"

type SessionPayload = Output<(typeof areas.account.specs)["listSessions"]>["sessions"][number]

export const toSession = (row: SessionRow, currentId: string | undefined): SessionPayload => ({
  id: row.id,
  current: row.id === currentId,
  ip: row.ip,
  user_agent: row.user_agent,
  created_at: row.created_at.toISOString(),
  last_used_at: row.last_used_at.toISOString(),
  expires_at: row.expires_at.toISOString(),
})
