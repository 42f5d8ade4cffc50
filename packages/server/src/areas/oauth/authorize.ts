/** The authorization request: what is wrong with it, and what waits for a person where nothing is. */
import {
  type areas,
  type Input,
  OAUTH_CODE_GRANT,
  OAUTH_DECISION_SECONDS,
  OAUTH_OFFLINE_SCOPE,
  OAUTH_REFRESH_GRANT,
  OAUTH_SCOPES,
} from "@svc/contract"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { scopeWords } from "./clients.ts"
import { isOwnResource } from "./metadata.ts"
import { answerAt, isRegistered } from "./redirects.ts"
import type { AuthorizationRow, ClientRow } from "./store.ts"

export type AuthorizeInput = Input<(typeof areas.oauth.specs)["authorize"]>

/** A SHA-256 in base64url. */
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/

/** Where the answer goes; throws where it must go nowhere. */
export const redirectOf = (client: ClientRow, given: string | undefined): string => {
  const [only = "", ...others] = client.redirect_uris
  if (given === undefined && others.length === 0 && isRegistered(only, client.redirect_uris)) return only
  if (given === undefined)
    throw fault("oauth_invalid_redirect_uri", { reason: "name one of those registered" })
  if (!isRegistered(given, client.redirect_uris)) throw fault("oauth_invalid_redirect_uri")
  return given
}

/** The scopes that a request asks for; undefined where one of them is none. */
export const askedScopes = (client: ClientRow, scope: string | undefined): string[] | undefined => {
  const named = scopeWords(scope ?? client.scope ?? "")
  const asked = named.length === 0 ? [...OAUTH_SCOPES] : named
  if (asked.some(word => !OAUTH_SCOPES.includes(word))) return undefined
  const renews = client.grant_types.includes(OAUTH_REFRESH_GRANT)
  if (!renews) return asked.filter(word => word !== OAUTH_OFFLINE_SCOPE)
  // Many clients know the grant alone, and not the scope for it.
  return [...new Set([...asked, OAUTH_OFFLINE_SCOPE])]
}

type Problem = readonly [error: string, description: string]

const problemOf = (input: AuthorizeInput, client: ClientRow, baseUrl: string): Problem | undefined => {
  if (input.response_type !== "code") return ["unsupported_response_type", "response_type must be code"]
  if (!client.grant_types.includes(OAUTH_CODE_GRANT))
    return ["unauthorized_client", "the client did not register for codes"]
  if (input.code_challenge_method !== "S256" || !CHALLENGE.test(input.code_challenge ?? ""))
    return ["invalid_request", "a code_challenge of the method S256 is required"]
  if (input.resource !== undefined && !isOwnResource(input.resource, baseUrl))
    return ["invalid_target", "the resource is not an address of this installation"]
  return undefined
}

interface Asked {
  readonly client: ClientRow
  readonly input: AuthorizeInput
  readonly baseUrl: string
  readonly now: Date
}

/** The row that waits for a person, or the address of the refusal. */
export const judgeRequest = ({
  client,
  input,
  baseUrl,
  now,
}: Asked): { readonly row: AuthorizationRow } | { readonly refusalUrl: string } => {
  const redirect_uri = redirectOf(client, input.redirect_uri)
  const state = input.state ?? null
  const scopes = askedScopes(client, input.scope)
  const [error, error_description] =
    problemOf(input, client, baseUrl) ?? (scopes ? [] : ["invalid_scope", "a scope is not known"])
  if (error !== undefined || !scopes) {
    const answer = { error: error ?? null, error_description: error_description ?? null, state, iss: baseUrl }
    return { refusalUrl: answerAt(redirect_uri, answer) }
  }
  const expires_at = new Date(now.getTime() + OAUTH_DECISION_SECONDS * 1000)
  const row: AuthorizationRow = {
    ...{ id: newId(now.getTime()), flow: "code", status: "pending", client_id: client.id },
    ...{ scopes, redirect_uri, state, code_challenge: input.code_challenge ?? null },
    ...{ created_at: now, expires_at },
    ...undecided,
  }
  return { row }
}

/** What an authorization has later. */
export const undecided = {
  secret_hash: null,
  user_code: null,
  poll_seconds: null,
  polled_at: null,
  user_id: null,
  organization_id: null,
  project_id: null,
  grant_id: null,
} satisfies Partial<AuthorizationRow>
