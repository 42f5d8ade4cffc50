import { areas, plans, scopeNames, scopes } from "@svc/contract"
import type { AreaState } from "../../kernel/area.ts"
import { implement } from "../../kernel/implement.ts"
import { holds } from "../../kernel/scopes.ts"
import type { Limits } from "../../kernel/stages/limit.ts"
import { toIso } from "../../kernel/to-iso.ts"
import { usageStore } from "../meters/store.ts"

export interface AreaReport extends AreaState {
  readonly name: string
  readonly title: string
}

interface Needs {
  readonly limits: Limits
  /** Given late: areas start after the core. */
  readonly areaStates: () => Promise<readonly AreaReport[]>
}

const DAY_MS = 86_400_000

export const identityHandlers = implement(areas.identity, ({ limits, areaStates }: Needs) => ({
  async me(_input, { db, principal, organization, project, now }) {
    const { key, user } = principal
    const bucket = limits.peek(organization.id, organization.requestsPerSecond, now.getTime())
    const aiLimit = plans[organization.plan].ai_requests_per_day
    const aiUsed = await usageStore(db).ofDay(organization.id, "ai_requests", now)
    return {
      key: key && {
        id: key.id,
        name: principal.name,
        type: key.type,
        prefix: key.prefix,
        read_only: principal.readOnly,
        require_approval: principal.requireApproval,
        ip_allowlist: [...key.allowlist],
        expires_at: toIso(key.expiresAt),
        created_at: key.createdAt.toISOString(),
      },
      organization: { id: organization.id, name: organization.name, plan: organization.plan },
      project: project && { id: project.id, name: project.name },
      user: user && { id: user.id, email: user.email, name: user.name },
      scopes: scopeNames.filter(name => holds(principal, name)),
      rate_limits: {
        requests_per_second: organization.requestsPerSecond,
        burst: bucket.limit,
        remaining: bucket.remaining,
        reset_at: new Date(bucket.fullAtMs).toISOString(),
        ai_requests_per_day: {
          limit: aiLimit,
          used: aiUsed,
          remaining: aiLimit === null ? null : Math.max(0, aiLimit - aiUsed),
          // The daily counter starts anew at midnight UTC.
          reset_at: new Date((Math.floor(now.getTime() / DAY_MS) + 1) * DAY_MS).toISOString(),
        },
      },
    }
  },

  async services() {
    const reports = await areaStates()
    return {
      services: reports.map(({ name, title, status, reason, setting, capabilities }) => ({
        name,
        title,
        status,
        reason: reason ?? null,
        setting: setting ?? null,
        capabilities: capabilities ?? {},
      })),
    }
  },

  scopes: () => ({
    scopes: Object.entries(scopes).map(([name, { service, action, platform, description }]) => ({
      name,
      service,
      action,
      platform,
      description,
    })),
  }),
}))
