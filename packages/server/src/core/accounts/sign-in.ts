import type { areas, Output } from "@svc/contract"
import type { AccountCall } from "../../kernel/call.ts"
import type { Db } from "../../kernel/db/database.ts"
import type { createSessionCookie } from "./cookie.ts"
import { SESSION_LIFETIME_MS } from "./rules.ts"
import { openSession } from "./service.ts"
import type { UserRow } from "./store.ts"

type Specs = typeof areas.account.specs

export const toUser = (row: UserRow): Output<Specs["get"]> => ({
  id: row.id,
  email: row.email,
  name: row.name,
  mfa_enabled: row.mfa_enabled,
  created_at: row.created_at.toISOString(),
})

export const userTarget = ({ id, email }: UserRow) => ({ type: "user", id, name: email })

export type SignIn = (call: AccountCall, tx: Db, user: UserRow) => Promise<Output<Specs["challenge"]>>

/** Opens a session for a person who has just authenticated, and sets its cookie. */
export const createSignIn =
  (cookie: ReturnType<typeof createSessionCookie>): SignIn =>
  async (call, tx, user) => {
    const { ip, userAgent, now } = call
    const { row, token } = await openSession(tx, { userId: user.id, ip, userAgent, now })
    call.setHeader("set-cookie", cookie.carrying(token, SESSION_LIFETIME_MS / 1000))
    return {
      user: toUser(user),
      session: { id: row.id, expires_at: row.expires_at.toISOString() },
      mfa_required: false,
    }
  }
