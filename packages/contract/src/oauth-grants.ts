/** Authorization, consent and tokens: operations of the area `oauth`. */
import { type OperationSpec, T } from "./dsl.ts"
import { ClientId, OAuthScope, OAuthUrl, open } from "./oauth-fields.ts"
import { described, Id, Nullable, OneOf, Time } from "./types.ts"

const State = T.String({ maxLength: 2000, description: "Comes back as it is" })
const Token = T.String({ minLength: 1, maxLength: 500, description: "An access token or a refresh token" })
const Secret = T.String({ maxLength: 500 })

/** How a client authenticates in a form; in place of it, HTTP Basic. */
const clientForm = {
  client_id: T.Optional(described(ClientId, "Id of the client, unless it authenticates by HTTP Basic")),
  client_secret: T.Optional(described(Secret, "Secret of the client, where it has one")),
}

const named = T.Object({ id: Id, name: T.String() })

const Asked = T.Object({
  authorization_id: Id,
  flow: OneOf(["code", "device"], {
    description: "Whether the answer goes to a redirect URI or to a device",
  }),
  client: T.Object(
    {
      id: T.String({ description: "Id of the client" }),
      name: T.String({ description: "What it calls itself; nobody has verified it" }),
      uri: Nullable(T.String(), { description: "Page about the client; null if it named none" }),
      logo_uri: Nullable(T.String(), { description: "Its logo; null if it named none" }),
    },
    { description: "Who asks" },
  ),
  user: described(T.Object({ id: Id, email: T.String(), name: T.String() }), "Who decides"),
  scope: T.String({ description: "Scopes that are asked for, with spaces between them" }),
  redirect_uri: Nullable(T.String(), { description: "Where the answer goes; null for a device" }),
  expires_at: described(Time, "RFC 3339 time in UTC until which it can be decided"),
  projects: T.Array(
    T.Object({
      organization: described(named, "Organization of the project"),
      project: described(named, "Project that it can be connected to"),
      scopes: T.Array(T.String(), { description: "Scopes that the person can grant there" }),
    }),
    { description: "Projects that the person can connect the client to, at most 200" },
  ),
})

export const oauthGrantOperations = {
  authorize: {
    id: "authorizeOAuthClient",
    http: "GET /v1/oauth/authorize",
    summary: "Ask a person to connect an app",
    description:
      "A browser is sent here, and on to the consent page. Refusals go to the redirect URI, as `error`, but those of the client and of the redirect URI itself. Every answer has `iss`. Parameters that are not known are ignored.",
    scope: "public",
    effect: "write",
    transaction: "none",
    idempotency: "none",
    extension: true,
    query: T.Object(
      {
        client_id: ClientId,
        response_type: T.Optional(T.String({ maxLength: 100, description: "`code`" })),
        redirect_uri: T.Optional(
          OAuthUrl("One that the client registered; may be left out where it registered one alone"),
        ),
        scope: T.Optional(
          OAuthScope("Scopes with spaces between them; left out, those of the registration, else all"),
        ),
        state: T.Optional(State),
        code_challenge: T.Optional(
          T.String({ maxLength: 200, description: "SHA-256 of the code verifier, in base64url" }),
        ),
        code_challenge_method: T.Optional(T.String({ maxLength: 20, description: "`S256`" })),
        resource: T.Optional(OAuthUrl("The API that the token is for: an address of this installation")),
      },
      open,
    ),
    replies: { 302: null },
    faults: ["oauth_invalid_client", "oauth_invalid_client_metadata", "oauth_invalid_redirect_uri"],
    example: {
      client_id: "svc-cli",
      response_type: "code",
      redirect_uri: "http://127.0.0.1:51000/callback",
      scope: "kv:read offline_access",
      state: "af0ifjsldkj",
      code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
      code_challenge_method: "S256",
    },
  },
  getAuthorization: {
    id: "getOAuthAuthorization",
    http: "GET /v1/oauth/authorizations/{id}",
    summary: "Show what a client asks for",
    scope: "session",
    effect: "read",
    envelope: "bare",
    extension: true,
    params: T.Object({ id: Id }),
    replies: { 200: Asked },
    faults: ["resource_not_found"],
  },
  consent: {
    id: "decideOAuthAuthorization",
    http: "POST /v1/oauth/authorizations/{id}/consent",
    summary: "Connect the client to a project, or refuse",
    description:
      "The client gets exactly the scopes that are named here, at most those it asked for and those of the person. It counts as an API key of the plan.",
    scope: "session",
    effect: "write",
    envelope: "bare",
    extension: true,
    params: T.Object({ id: Id }),
    body: T.Object({
      action: OneOf(["approve", "deny"], { description: "What the person decided" }),
      organization_id: T.Optional(described(Id, "Organization of the project; may be left out")),
      project_id: T.Optional(
        described(
          Id,
          "Project that the client is connected to; may be left out where the person has one alone",
        ),
      ),
      scopes: T.Optional(
        T.Array(T.String({ maxLength: 64 }), {
          maxItems: 65,
          uniqueItems: true,
          description: "Scopes that are granted; those asked for when left out",
        }),
      ),
    }),
    replies: {
      200: T.Object({
        redirect_url: Nullable(T.String(), {
          description: "Where the browser goes next, with the answer; null for a device, which fetches it",
        }),
      }),
    },
    secrets: ["redirect_url"],
    faults: [
      "resource_not_found",
      "project_required",
      "project_not_in_organization",
      "role_insufficient",
      "invalid_scope",
      "scope_exceeds_creator",
      "plan_limit_reached",
    ],
    example: { action: "approve", scopes: ["kv:read"] },
  },
  deviceAuthorization: {
    id: "authorizeOAuthDevice",
    http: "POST /v1/oauth/device_authorization",
    summary: "Begin to connect a device that has no browser (RFC 8628)",
    description:
      "The person opens `verification_uri` elsewhere and enters the code; the device asks for its tokens meanwhile, every `interval` seconds.",
    scope: "public",
    effect: "write",
    idempotency: "none",
    limit: "auth",
    extension: true,
    crossOrigin: true,
    content: { request: "form" },
    body: T.Object(
      {
        ...clientForm,
        scope: T.Optional(
          OAuthScope("Scopes with spaces between them; left out, those of the registration, else all"),
        ),
      },
      open,
    ),
    bodyBytesMax: 65_536,
    replies: {
      200: T.Object({
        device_code: T.String({ description: "For the device, which asks for its tokens with it" }),
        user_code: T.String({ description: "For the person, who enters it on the page" }),
        verification_uri: T.String({ description: "The page" }),
        verification_uri_complete: T.String({ description: "The page with the code filled in" }),
        expires_in: T.Integer({ description: "Seconds for which the codes are valid" }),
        interval: T.Integer({ description: "Seconds between two questions of the device" }),
      }),
    },
    faults: ["oauth_invalid_client", "oauth_unauthorized_client", "oauth_invalid_scope"],
    example: { client_id: "svc-cli", scope: "kv:read offline_access" },
  },
  token: {
    id: "issueOAuthToken",
    http: "POST /v1/oauth/token",
    summary: "Exchange a code or a refresh token for tokens",
    description:
      "Access tokens are keys of the type `oauth` and end after 8 hours. Refresh tokens are replaced at each use, end 90 days after the consent, and come with the scope `offline_access`. A code or refresh token that is used again ends the connection; a refresh token that is repeated within ten seconds gets the valid one again.",
    scope: "public",
    effect: "write",
    transaction: "none",
    idempotency: "none",
    extension: true,
    crossOrigin: true,
    content: { request: "form" },
    body: T.Object(
      {
        grant_type: T.String({
          maxLength: 100,
          description: "`authorization_code`, `refresh_token` or the device code grant",
        }),
        ...clientForm,
        code: T.Optional(T.String({ maxLength: 500, description: "The code of the answer" })),
        redirect_uri: T.Optional(OAuthUrl("The one of the authorization request, if it is sent")),
        code_verifier: T.Optional(
          T.String({ maxLength: 200, description: "What the code challenge was made from" }),
        ),
        refresh_token: T.Optional(T.String({ maxLength: 500, description: "The refresh token" })),
        scope: T.Optional(
          OAuthScope("With a refresh token: the granted scopes or fewer, for this access token"),
        ),
        device_code: T.Optional(T.String({ maxLength: 500, description: "The code of the device" })),
        resource: T.Optional(OAuthUrl("The API that the token is for: an address of this installation")),
      },
      open,
    ),
    bodyBytesMax: 65_536,
    replies: {
      200: T.Object({
        access_token: T.String({ description: "A key, for `Authorization: Bearer`" }),
        token_type: T.String({ description: "`Bearer`" }),
        expires_in: T.Integer({ description: "Seconds until the access token ends" }),
        refresh_token: T.Optional(T.String({ description: "For the next access token" })),
        scope: T.String({ description: "Scopes that were granted, with spaces between them" }),
      }),
    },
    faults: [
      "oauth_invalid_request",
      "oauth_invalid_client",
      "oauth_invalid_grant",
      "oauth_invalid_scope",
      "oauth_invalid_target",
      "oauth_unauthorized_client",
      "oauth_unsupported_grant_type",
      "oauth_authorization_pending",
      "oauth_slow_down",
      "oauth_expired_token",
      "oauth_access_denied",
      "plan_limit_reached",
    ],
    example: {
      grant_type: "authorization_code",
      client_id: "svc-cli",
      code: "svc_oac_x8o2zqEFbuLtBZpCxXUtWfcsn0NsvRTzAWTXwwPIx9w",
      code_verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    },
  },
  revoke: {
    id: "revokeOAuthToken",
    http: "POST /v1/oauth/revoke",
    summary: "Give a token back (RFC 7009)",
    description: "Ends the connection with all its tokens. A token that is not valid is no error.",
    scope: "public",
    effect: "destroy",
    idempotency: "none",
    extension: true,
    crossOrigin: true,
    content: { request: "form" },
    body: T.Object(
      {
        token: Token,
        token_type_hint: T.Optional(T.String({ maxLength: 100, description: "Not needed" })),
        ...clientForm,
      },
      open,
    ),
    bodyBytesMax: 65_536,
    replies: { 200: null },
    faults: ["oauth_invalid_client"],
    example: { client_id: "svc-cli", token: "svc_ort_x8o2zqEFbuLtBZpCxXUtWfcsn0NsvRTzAWTXwwPIx9w" },
  },
  introspect: {
    id: "introspectOAuthToken",
    http: "POST /v1/oauth/introspect",
    summary: "Describe a token to the client that it was given to (RFC 7662)",
    description: "A token that is not valid, or another client's, is `active: false` and nothing else.",
    scope: "public",
    effect: "read",
    extension: true,
    crossOrigin: true,
    content: { request: "form" },
    body: T.Object(
      {
        token: Token,
        token_type_hint: T.Optional(T.String({ maxLength: 100, description: "Not needed" })),
        ...clientForm,
      },
      open,
    ),
    bodyBytesMax: 65_536,
    replies: {
      200: T.Object({
        active: T.Boolean({ description: "Whether it is valid" }),
        scope: T.Optional(T.String({ description: "Granted scopes with spaces between them" })),
        client_id: T.Optional(T.String({ description: "Client that it was given to" })),
        username: T.Optional(T.String({ description: "Address of the person who consented" })),
        token_type: T.Optional(T.String({ description: "`Bearer`, for an access token" })),
        exp: T.Optional(T.Integer({ description: "Unix seconds when it ends" })),
        iat: T.Optional(T.Integer({ description: "Unix seconds when it was made" })),
        sub: T.Optional(T.String({ description: "Id of the person who consented" })),
        iss: T.Optional(T.String({ description: "Base URL of this installation" })),
      }),
    },
    faults: ["oauth_invalid_client"],
    example: { client_id: "svc-cli", token: "svc_ort_x8o2zqEFbuLtBZpCxXUtWfcsn0NsvRTzAWTXwwPIx9w" },
  },
} as const satisfies Record<string, OperationSpec>
