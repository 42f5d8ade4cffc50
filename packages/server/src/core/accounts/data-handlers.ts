import { type areas, EXPORTED_EVENTS_MAX, type Output, type Role } from "@svc/contract"
import { fault } from "../../kernel/fault.ts"
import type { Handlers } from "../../kernel/implement.ts"
import { type EventRow, toEntry } from "../audit/chain.ts"
import { auditStore } from "../audit/store.ts"
import type { TenantKeys } from "../secrets/tenant-keys.ts"
import { personStore } from "./data-store.ts"
import { factorStore } from "./factor-store.ts"
import { toFactor } from "./mfa-handlers.ts"
import { isLive } from "./rules.ts"
import { toSession } from "./session-payload.ts"
import { toUser } from "./sign-in.ts"
import { getUser, lockUser } from "./signed-in-user.ts"
import { checkStepUp } from "./step-up.ts"
import { accountStore } from "./store.ts"

type Specs = typeof areas.account.specs
type EventPayload = Output<Specs["exportData"]>["events"][number]

interface Needs {
  readonly tenantKeys: Pick<TenantKeys, "erase">
  /** The `Set-Cookie` value that takes the session from the browser. */
  readonly clearedCookie: string
}

const toEvent = (row: EventRow): EventPayload => {
  const { action, outcome, occurredAt, context } = toEntry(row)
  const text = (value: unknown) => (typeof value === "string" ? value : null)
  return {
    action,
    outcome,
    occurred_at: occurredAt.toISOString(),
    ip: text(context.ip),
    user_agent: text(context.user_agent),
  }
}

export const dataHandlers = ({
  tenantKeys,
  clearedCookie,
}: Needs): Pick<Handlers<Specs>, "exportData" | "delete"> => ({
  async exportData(_input, call) {
    checkStepUp(call)
    const { db, now, principal } = call
    const user = await getUser(call)
    const person = personStore(db, user.id)
    const [sessions, factors, networks, organizations, keys, events] = await Promise.all([
      accountStore(db).listSessions(user.id),
      factorStore(db, user.id).list(),
      person.networks(),
      person.organizations(),
      person.keys(),
      auditStore(db).list(user.id, {}, { limit: EXPORTED_EVENTS_MAX, offset: 0 }),
    ])
    return {
      exported_at: now.toISOString(),
      user: toUser(user),
      sessions: sessions
        .filter(row => isLive(row, now.getTime()))
        .map(row => toSession(row, principal.session?.id)),
      factors: factors.map(toFactor),
      networks: networks.map(({ source, seen_at }) => ({
        network: source,
        last_sign_in_at: seen_at.toISOString(),
      })),
      organizations: organizations.map(({ role, ...one }) => ({ ...one, role: role as Role })),
      keys: keys.map(key => ({ ...key, created_at: key.created_at.toISOString() })),
      events: events.rows.map(toEvent),
    }
  },

  async delete(_input, call): Promise<undefined> {
    checkStepUp(call)
    const { db } = call
    const user = await lockUser(call, db)
    const person = personStore(db, user.id)
    const { length } = await person.organizations()
    if (length > 0)
      throw fault("conflict", {
        reason:
          length === 1
            ? "the person belongs to an organization"
            : `the person belongs to ${length} organizations`,
      })
    await person.delete(user.email)
    await tenantKeys.erase(db, user.id)
    call.describe({ targets: [{ type: "user", id: user.id }] })
    call.setHeader("set-cookie", clearedCookie)
  },
})
