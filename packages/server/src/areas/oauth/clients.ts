/** Clients: those that registered, and the command line. */
import {
  type areas,
  type Input,
  OAUTH_CLI_CLIENT_ID,
  OAUTH_CODE_GRANT,
  OAUTH_GRANTS,
  OAUTH_REFRESH_GRANT,
  OAUTH_SCOPES,
} from "@svc/contract"
import { newToken, tokenHash } from "../../core/accounts/token.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import { redirectProblem, shownPlace } from "./redirects.ts"
import type { ClientRow } from "./store.ts"

export type ClientFields = Input<(typeof areas.oauth.specs)["register"]>

const SECRET_PREFIX = "svc_ocs_"
const DEFAULT_GRANTS = [OAUTH_CODE_GRANT, OAUTH_REFRESH_GRANT]

export const cliClient: ClientRow = {
  id: OAUTH_CLI_CLIENT_ID,
  name: "Svc CLI",
  uri: null,
  logo_uri: null,
  redirect_uris: ["http://127.0.0.1/callback"],
  grant_types: [...OAUTH_GRANTS],
  auth_method: "none",
  secret_hash: null,
  scope: null,
  created_at: new Date(0),
  fetched_at: null,
}

const invalid = (reason: string) => fault("oauth_invalid_client_metadata", { reason })

const checkRedirects = (uris: readonly string[]) => {
  for (const uri of uris) {
    const reason = redirectProblem(uri)
    if (reason !== undefined) throw fault("oauth_invalid_redirect_uri", { reason })
  }
}

const checkPage = (field: string, text: string | undefined) => {
  if (text === undefined) return
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol !== "https:" && url?.protocol !== "http:") throw invalid(`${field} is not a web address`)
}

/** Words between spaces, each once. */
export const scopeWords = (text: string): string[] => [
  ...new Set(text.split(" ").filter(word => word !== "")),
]

const grantsOf = (asked: readonly string[] = DEFAULT_GRANTS): string[] => {
  const known = OAUTH_GRANTS.filter(grant => asked.includes(grant))
  if (known.length === 0) throw invalid("no grant type of it is supported")
  return known
}

/** Checks what a client says of itself, and completes it. */
export const describeClient = (
  fields: ClientFields,
): Omit<ClientRow, "id" | "created_at" | "fetched_at" | "secret_hash"> => {
  checkRedirects(fields.redirect_uris)
  checkPage("client_uri", fields.client_uri)
  checkPage("logo_uri", fields.logo_uri)
  const [first = ""] = fields.redirect_uris
  const scopes =
    fields.scope === undefined ? null : scopeWords(fields.scope).filter(word => OAUTH_SCOPES.includes(word))
  return {
    name: fields.client_name?.trim() || shownPlace(first).slice(0, 64),
    uri: fields.client_uri ?? null,
    logo_uri: fields.logo_uri ?? null,
    redirect_uris: [...fields.redirect_uris],
    grant_types: grantsOf(fields.grant_types),
    auth_method: fields.token_endpoint_auth_method ?? "none",
    scope: scopes && scopes.length > 0 ? scopes.join(" ") : null,
  }
}

/** A client that registers, and its secret where it has one. */
export const newClient = (
  fields: ClientFields,
  now: Date,
): { row: ClientRow; secret: string | undefined } => {
  const facts = describeClient(fields)
  const secret = facts.auth_method === "none" ? undefined : newToken(SECRET_PREFIX)
  const row = {
    ...facts,
    id: newId(now.getTime()),
    secret_hash: secret === undefined ? null : tokenHash(secret),
    created_at: now,
    fetched_at: null,
  }
  return { row, secret }
}
