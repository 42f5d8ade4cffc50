import type { areas, Output } from "@svc/contract"
import { toIso } from "../../kernel/to-iso.ts"
import type { FactorRow } from "./factor-store.ts"
import type { SessionRow, UserRow } from "./store.ts"

type Specs = typeof areas.auth.specs
export type UserPayload = Output<Specs["getUser"]>
export type ManagedPayload = Output<Specs["showUser"]>

export const toFactor = (row: FactorRow): UserPayload["factors"][number] => ({
  id: row.id,
  type: "totp",
  friendly_name: row.friendly_name,
  status: row.status === "verified" ? "verified" : "unverified",
  created_at: row.created_at.toISOString(),
})

export const toUser = (row: UserRow, factors: readonly FactorRow[]): UserPayload => ({
  id: row.id,
  aud: row.project_id,
  role: "authenticated",
  email: row.email,
  email_confirmed_at: toIso(row.email_confirmed_at),
  last_sign_in_at: toIso(row.last_sign_in_at),
  app_metadata: row.app_metadata as Record<string, unknown>,
  user_metadata: row.user_metadata as Record<string, unknown>,
  factors: factors.map(toFactor),
  is_anonymous: row.is_anonymous,
  created_at: row.created_at.toISOString(),
  updated_at: row.updated_at.toISOString(),
})

export const toManaged = (row: UserRow, factors: readonly FactorRow[], now: Date): ManagedPayload => ({
  ...toUser(row, factors),
  banned_until: row.banned_until && row.banned_until > now ? row.banned_until.toISOString() : null,
})

export const toSession = (
  row: SessionRow,
  currentId: string | undefined,
): Output<Specs["listSessions"]>["sessions"][number] => ({
  id: row.id,
  current: row.id === currentId,
  level: row.level === "aal2" ? "aal2" : "aal1",
  ip: row.ip,
  user_agent: row.user_agent,
  created_at: row.created_at.toISOString(),
  last_used_at: row.numbered_at.toISOString(),
  expires_at: new Date(Math.min(row.idle_until.getTime(), row.expires_at.getTime())).toISOString(),
})
