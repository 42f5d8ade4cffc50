import { area, T } from "./dsl.ts"
import { OAUTH_CLIENT_METHODS, OAUTH_REDIRECT_URIS_MAX, OAuthScope, OAuthUrl, open } from "./oauth-fields.ts"
import { oauthGrantOperations } from "./oauth-grants.ts"
import { OneOf } from "./types.ts"

const Strings = (description: string) => T.Array(T.String(), { description })

const Resource = T.Object({
  resource: T.String({ description: "Address of the API that the tokens are for" }),
  authorization_servers: Strings("Issuers whose tokens it takes: this installation alone"),
  scopes_supported: Strings("Scopes that a client may ask for"),
  bearer_methods_supported: Strings("How the token is sent: `header`"),
  resource_name: T.String({ description: "Name to show to people" }),
  resource_documentation: T.String({ description: "Address of its documentation" }),
})

const clientFields = {
  client_name: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 64,
      pattern: "^[^\\u0000-\\u001f\\u007f]+$",
      description: "Name that the consent page shows; the host of the first redirect URI when left out",
    }),
  ),
  redirect_uris: T.Array(OAuthUrl("Where the answer goes"), {
    minItems: 1,
    maxItems: OAUTH_REDIRECT_URIS_MAX,
    description:
      "https URLs, http URLs of loopback addresses, or URLs of a scheme of the app's own, such as `com.example.app:/callback`. They must be equal in the authorization request, but for the port of loopback addresses",
  }),
  grant_types: T.Optional(
    T.Array(T.String({ maxLength: 100 }), {
      maxItems: 10,
      description:
        "Of `authorization_code`, `refresh_token` and the device code grant; the first two when left out. Others are left out of the registration",
    }),
  ),
  token_endpoint_auth_method: T.Optional(
    OneOf(OAUTH_CLIENT_METHODS, {
      description: "How the client authenticates; `none`, with PKCE alone, when left out",
    }),
  ),
  scope: T.Optional(
    OAuthScope("Scopes that it asks for where a request names none, with spaces between them"),
  ),
  client_uri: T.Optional(OAuthUrl("Page about the client")),
  logo_uri: T.Optional(OAuthUrl("Its logo; stored, and shown by no page of the platform")),
}

/** Connected apps: an OAuth 2.1 server. Its replies have the form of their RFCs. */
export const oauth = area(
  "oauth",
  {
    title: "OAuth",
    summary:
      "Apps of others connect with a person's consent: OAuth 2.1 with PKCE, registration and device codes",
    project: "none",
    belongs: "caller",
    envelope: "oauth",
  },
  {
    metadata: {
      id: "getOAuthMetadata",
      http: "GET /.well-known/oauth-authorization-server",
      summary: "Describe the authorization server (RFC 8414)",
      scope: "public",
      effect: "read",
      extension: true,
      crossOrigin: true,
      replies: {
        200: T.Object({
          issuer: T.String({ description: "Base URL of this installation" }),
          authorization_endpoint: T.String({ description: "Where a browser is sent" }),
          token_endpoint: T.String({ description: "Where tokens are fetched" }),
          registration_endpoint: T.String({ description: "Where clients register" }),
          revocation_endpoint: T.String({ description: "Where tokens are given back" }),
          introspection_endpoint: T.String({ description: "Where a token is described to its client" }),
          device_authorization_endpoint: T.String({ description: "Where a device gets its codes" }),
          scopes_supported: Strings("Scopes that a client may ask for"),
          response_types_supported: Strings("`code` alone"),
          response_modes_supported: Strings("`query` alone"),
          grant_types_supported: Strings("Authorization code, refresh token, device code"),
          token_endpoint_auth_methods_supported: Strings("How clients authenticate"),
          revocation_endpoint_auth_methods_supported: Strings("How clients authenticate"),
          introspection_endpoint_auth_methods_supported: Strings("How clients authenticate"),
          code_challenge_methods_supported: Strings("`S256` alone"),
          authorization_response_iss_parameter_supported: T.Boolean({
            description: "True: the answer names the issuer (RFC 9207)",
          }),
          client_id_metadata_document_supported: T.Boolean({
            description: "True: the URL of a metadata document is a client id",
          }),
          service_documentation: T.String({ description: "Address of the documentation" }),
        }),
      },
    },
    resource: {
      id: "getOAuthProtectedResource",
      http: "GET /.well-known/oauth-protected-resource",
      summary: "Say where tokens for the API come from (RFC 9728)",
      description: "The header `WWW-Authenticate` of every 401 names this document.",
      scope: "public",
      effect: "read",
      extension: true,
      crossOrigin: true,
      replies: { 200: Resource },
    },
    mcpResource: {
      id: "getOAuthProtectedResourceOfMcp",
      http: "GET /.well-known/oauth-protected-resource/api/v1/mcp",
      summary: "Say where tokens for the MCP endpoint come from (RFC 9728)",
      scope: "public",
      effect: "read",
      extension: true,
      crossOrigin: true,
      replies: { 200: Resource },
    },
    register: {
      id: "registerOAuthClient",
      http: "POST /v1/oauth/register",
      summary: "Register a client (RFC 7591)",
      description:
        "Anyone may register; what a client says of itself is shown to people as its own word. A registration that nobody connected within 30 days is deleted. Fields that are not known are ignored.",
      scope: "public",
      effect: "write",
      idempotency: "none",
      limit: "auth",
      extension: true,
      crossOrigin: true,
      body: T.Object(clientFields, open),
      bodyBytesMax: 65_536,
      replies: {
        201: T.Object({
          client_id: T.String({ description: "Id of the client" }),
          client_id_issued_at: T.Integer({ description: "Unix seconds" }),
          client_secret: T.Optional(
            T.String({ description: "Shown only in this reply; not for clients of the method `none`" }),
          ),
          client_secret_expires_at: T.Optional(T.Integer({ description: "0: it does not expire" })),
          client_name: T.String({ description: "Name that the consent page shows" }),
          redirect_uris: Strings("Where answers may go"),
          grant_types: Strings("Grants that the client may use"),
          response_types: Strings("`code`, where it may use the code grant"),
          token_endpoint_auth_method: T.String({ description: "How the client authenticates" }),
          scope: T.Optional(T.String({ description: "Scopes that it asks for where a request names none" })),
          client_uri: T.Optional(T.String({ description: "Page about the client" })),
          logo_uri: T.Optional(T.String({ description: "Its logo" })),
        }),
      },
      faults: ["oauth_invalid_redirect_uri", "oauth_invalid_client_metadata"],
      example: { client_name: "Notes", redirect_uris: ["https://notes.example.com/callback"] },
    },
    ...oauthGrantOperations,
  },
)
