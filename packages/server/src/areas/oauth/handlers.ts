import { areas, OAUTH_CODE_GRANT, type Output } from "@svc/contract"
import { implement } from "../../kernel/implement.ts"
import { newClient } from "./clients.ts"
import { resourceMetadata, serverMetadata } from "./metadata.ts"
import { type ClientRow, clientStore } from "./store.ts"

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

export interface OAuthHandlerNeeds {
  readonly baseUrl: string
}

export const oauthHandlers = implement(areas.oauth, ({ baseUrl }: OAuthHandlerNeeds) => ({
  metadata: () => serverMetadata(baseUrl),
  resource: () => resourceMetadata(baseUrl),
  mcpResource: () => resourceMetadata(baseUrl, areas.mcp.operations.message.path),

  async register(fields, { db, now }) {
    const { row, secret } = newClient(fields, now)
    await clientStore(db).insert(row)
    return toRegistered(row, secret)
  },
}))
