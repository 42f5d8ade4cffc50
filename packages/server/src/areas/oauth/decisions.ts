/** A person's decision on what a client asks for. */
import { type areas, type Input, isScope, OAUTH_CODE_SECONDS, OAUTH_OFFLINE_SCOPE } from "@svc/contract"
import { newToken, tokenHash } from "../../core/accounts/token.ts"
import { checkRoomForKey } from "../../core/keys/room.ts"
import { checkMayCreate, scopesFor } from "../../core/keys/rules.ts"
import type { Call } from "../../kernel/call.ts"
import type { Db } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { requireRow } from "../../kernel/require-row.ts"
import { type Choice, choose } from "./choices.ts"
import { answerAt } from "./redirects.ts"
import { type AuthorizationRow, authorizationStore } from "./store.ts"

type Decision = Input<(typeof areas.oauth.specs)["consent"]>

const CODE_PREFIX = "svc_oac_"

/** What is granted: of what was asked, what the person left, as far as the person may. */
const grantedScopes = (row: AuthorizationRow, given: readonly string[] | undefined, { rights }: Choice) => {
  const chosen = given ?? row.scopes
  const beyond = chosen.filter(scope => !row.scopes.includes(scope))
  if (beyond.length > 0) throw fault("invalid_scope", { scopes: `${beyond.join(", ")} was not asked for` })
  scopesFor("oauth", chosen.filter(isScope), rights)
  // In the order of the request, so that what the person unticked does not change the rest.
  return row.scopes.filter(
    scope => chosen.includes(scope) && (isScope(scope) || scope === OAUTH_OFFLINE_SCOPE),
  )
}

export interface Decided {
  readonly redirectUrl: string | null
  /** Undefined where the person refused. */
  readonly choice: Choice | undefined
  readonly row: AuthorizationRow
}

interface Deciding {
  readonly db: Db
  readonly userId: string
  readonly decision: Decision
  readonly baseUrl: string
  readonly now: Date
}

const answerOf = (row: AuthorizationRow, parameters: Record<string, string | null>, iss: string) =>
  row.redirect_uri === null ? null : answerAt(row.redirect_uri, { ...parameters, state: row.state, iss })

export const decide = async ({ db, userId, decision, baseUrl, now }: Deciding): Promise<Decided> => {
  const { id } = decision
  const store = authorizationStore(db)
  const row = await requireRow(store.lockPending(id, now), "resource_not_found", { id })
  if (decision.action === "deny") {
    await store.update(id, { status: "denied", user_id: userId })
    const redirectUrl = answerOf(row, { error: "access_denied" }, baseUrl)
    return { redirectUrl, choice: undefined, row }
  }
  const choice = await choose(db, userId, decision)
  checkMayCreate(choice.rights, { project_id: choice.project.id, organization_reach: false })
  const scopes = grantedScopes(row, decision.scopes, choice)
  await checkRoomForKey(db, choice.organization, now)
  const approved = {
    ...{ status: "approved", scopes, user_id: userId },
    ...{ organization_id: choice.organization.id, project_id: choice.project.id },
  }
  if (row.flow === "device") {
    await store.update(id, approved)
    return { redirectUrl: null, choice, row }
  }
  const code = newToken(CODE_PREFIX)
  const expires_at = new Date(now.getTime() + OAUTH_CODE_SECONDS * 1000)
  await store.update(id, { ...approved, secret_hash: tokenHash(code), expires_at })
  return { redirectUrl: answerOf(row, { code }, baseUrl), choice, row }
}

/** What the audit trail says of it. */
export const noteOf = ({ row, choice }: Decided, clientName: string): Parameters<Call["describe"]>[0] => ({
  action: choice ? "oauth_app_connected" : "oauth_app_refused",
  ...(choice && { tenantId: choice.organization.id }),
  targets: [{ type: "oauth_client", id: row.client_id, name: clientName }],
  metadata: { flow: row.flow, ...(choice && { project_id: choice.project.id }) },
})
