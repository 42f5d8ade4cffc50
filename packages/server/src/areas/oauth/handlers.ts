import { areas, OAUTH_CODE_GRANT, type Output } from "@svc/contract"
import { implement } from "../../kernel/implement.ts"
import { requireRow } from "../../kernel/require-row.ts"
import { judgeRequest } from "./authorize.ts"
import { canGrant, listChoices } from "./choices.ts"
import { newClient } from "./clients.ts"
import { decide, noteOf } from "./decisions.ts"
import { resourceMetadata, serverMetadata } from "./metadata.ts"
import { authorizationStore, type ClientRow, clientStore } from "./store.ts"
import { type TokenNeeds, tokenHandlers } from "./tokens.ts"

type Registered = Output<(typeof areas.oauth.specs)["register"]>

const toRegistered = (row: ClientRow, secret: string | undefined): Registered => ({
  client_id: row.id,
  client_id_issued_at: Math.floor(row.created_at.getTime() / 1000),
  ...(secret !== undefined && { client_secret: secret, client_secret_expires_at: 0 }),
  client_name: row.name,
  redirect_uris: row.redirect_uris,
  grant_types: row.grant_types,
  response_types: row.grant_types.includes(OAUTH_CODE_GRANT) ? ["code"] : [],
  token_endpoint_auth_method: row.auth_method,
  ...(row.scope !== null && { scope: row.scope }),
  ...(row.uri !== null && { client_uri: row.uri }),
  ...(row.logo_uri !== null && { logo_uri: row.logo_uri }),
})

/** A client that was deleted since it asked. */
const nameless = (id: string) => ({ id, name: id, uri: null, logo_uri: null })

export const oauthHandlers = implement(areas.oauth, (needs: TokenNeeds) => {
  const { baseUrl, directory } = needs

  return {
    ...tokenHandlers(needs),

    metadata: () => serverMetadata(baseUrl),
    resource: () => resourceMetadata(baseUrl),
    mcpResource: () => resourceMetadata(baseUrl, areas.mcp.operations.message.path),

    async register(fields, { db, now }) {
      const { row, secret } = newClient(fields, now)
      await clientStore(db).insert(row)
      return toRegistered(row, secret)
    },

    async authorize(input, { db, now, setHeader }): Promise<undefined> {
      const client = await directory.find(db, input.client_id, now)
      const judged = judgeRequest({ client, input, baseUrl, now })
      if ("row" in judged) await authorizationStore(db).insert(judged.row)
      setHeader("location", "row" in judged ? `${baseUrl}/oauth/consent/${judged.row.id}` : judged.refusalUrl)
    },

    async getAuthorization({ id }, { db, principal, now }) {
      const row = await requireRow(authorizationStore(db).findPending(id, now), "resource_not_found", { id })
      const { name, uri, logo_uri } = (await directory.stored(db, row.client_id)) ?? nameless(row.client_id)
      const { email = "", name: person = "" } = principal.user ?? {}
      const choices = await listChoices(db, principal.id)
      return {
        authorization_id: row.id,
        flow: row.flow as "code" | "device",
        client: { id: row.client_id, name, uri, logo_uri },
        user: { id: principal.id, email, name: person },
        scope: row.scopes.join(" "),
        redirect_uri: row.redirect_uri,
        expires_at: row.expires_at.toISOString(),
        projects: choices.map(({ organization, project, rights }) => ({
          organization: { id: organization.id, name: organization.name },
          project,
          scopes: row.scopes.filter(scope => canGrant(rights, scope)),
        })),
      }
    },

    async consent(decision, call) {
      const { db, principal, now } = call
      const decided = await decide({ db, userId: principal.id, decision, baseUrl, now })
      const { name } = (await directory.stored(db, decided.row.client_id)) ?? nameless(decided.row.client_id)
      call.describe(noteOf(decided, name))
      return { redirect_url: decided.redirectUrl }
    },
  }
})
