/** Sign-in of an application's users by outside providers: OpenID providers, and GitHub. */
import { RedirectTo, SignInReply } from "./auth-fields.ts"
import { type OperationSpec, T } from "./dsl.ts"
import { open as openObject } from "./oauth-fields.ts"
import { described, Id, Nullable, Time } from "./types.ts"

export const PROVIDERS_MAX = 20
/** Seconds between the start of a sign-in and the provider's answer, and between that and its exchange. */
export const PROVIDER_SIGN_IN_SECONDS = 600
export const PROVIDER_CODE_SECONDS = 60

const owner = { scope: "admin:full", audit: "each", extension: true } as const
const asking = {
  effect: "write",
  transaction: "none",
  extension: true,
  bodyBytesMax: 65_536,
} as const

const ProviderName = T.String({
  pattern: "^[a-z0-9][a-z0-9-]{0,63}$",
  description:
    "`google`, `github`, `apple`, `microsoft`, or a name of one's own for any other OpenID provider",
})
const params = T.Object({ provider: ProviderName })

const providerFields = {
  enabled: T.Boolean({ default: true, description: "Whether users can sign in by it" }),
  client_id: T.String({
    minLength: 1,
    maxLength: 512,
    pattern: "^[\\u0020-\\u007e]+$",
    description: "Id that the provider gave the application",
  }),
  issuer: T.String({
    minLength: 1,
    maxLength: 2048,
    description:
      "Issuer of the OpenID provider, which `/.well-known/openid-configuration` is added to. Those with a preset need none, but for another cloud or a server of one's own; that of `github` is the address of the server",
  }),
  scopes: T.Array(
    T.String({ minLength: 1, maxLength: 128, pattern: "^[\\u0021\\u0023-\\u005b\\u005d-\\u007e]+$" }),
    {
      maxItems: 20,
      uniqueItems: true,
      description: "Scopes that are asked for instead of the preset's",
    },
  ),
  team_id: T.String({ minLength: 1, maxLength: 64, description: "Of `apple`: id of the team" }),
  key_id: T.String({ minLength: 1, maxLength: 64, description: "Of `apple`: id of the private key" }),
}

const Provider = T.Object({
  provider: T.String({ description: "Name of the provider, as it stands in paths" }),
  enabled: T.Boolean({ description: "Whether users can sign in by it" }),
  client_id: T.String({ description: "Id that the provider gave the application" }),
  has_secret: T.Boolean({ description: "Whether a client secret is kept" }),
  issuer: T.String({ description: "Issuer of the provider" }),
  scopes: T.Array(T.String(), { description: "Scopes that are asked for" }),
  team_id: Nullable(T.String(), { description: "Id of the team at Apple; null without one" }),
  key_id: Nullable(T.String(), { description: "Id of the private key at Apple; null without one" }),
  callback_url: T.String({ description: "Redirect address to register with the provider" }),
  created_at: Time,
  updated_at: Time,
})

const startFields = {
  redirect_to: described(
    RedirectTo,
    "Page of the application that gets `code`, or `error`, in its query. It must be among `redirect_urls` of the project's settings",
  ),
  code_challenge: T.String({
    pattern: "^[A-Za-z0-9_-]{43}$",
    description: "SHA-256 of a random verifier that the page keeps, in base64url (RFC 7636, S256)",
  }),
}
const startReplies = {
  200: T.Object({
    url: T.String({ description: "Page of the provider that the browser opens next" }),
    expires_at: described(Time, "RFC 3339 time in UTC until which the provider must have answered"),
  }),
}
const startExample = {
  provider: "google",
  redirect_to: "https://app.example.com/welcome",
  code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
}

const Identity = T.Object({
  id: Id,
  provider: T.String({ description: "Name of the provider" }),
  email: Nullable(T.String(), { description: "Address at the provider; null where it told none" }),
  created_at: Time,
  last_used_at: described(Time, "RFC 3339 time in UTC of the last sign-in by it"),
})

export const providerOperations = {
  listProviders: {
    ...owner,
    id: "authListProviders",
    http: "GET /v1/auth/providers",
    summary: "List the outside providers that users sign in by",
    effect: "read",
    replies: {
      200: T.Object({ providers: T.Array(Provider, { description: "By name; at most 20" }) }),
    },
  },
  putProvider: {
    ...owner,
    id: "authPutProvider",
    http: "PUT /v1/auth/providers/{provider}",
    summary: "Set up an outside provider",
    description:
      "The client secret is encrypted and never shown; left out, the present one stays, unless the issuer changes. For `apple` it is the private key in PEM form, with `team_id` and `key_id`. A sign-in that waits for the provider ends.",
    effect: "write",
    idempotency: "natural",
    params,
    body: T.Object({
      client_id: providerFields.client_id,
      client_secret: T.Optional(
        T.String({
          minLength: 1,
          maxLength: 8192,
          description: "Secret that the provider gave the application; written, never read",
        }),
      ),
      enabled: T.Optional(providerFields.enabled),
      issuer: T.Optional(providerFields.issuer),
      scopes: T.Optional(providerFields.scopes),
      team_id: T.Optional(providerFields.team_id),
      key_id: T.Optional(providerFields.key_id),
    }),
    replies: { 200: Provider },
    faults: ["invalid_parameter", "missing_parameter"],
    example: {
      provider: "google",
      client_id: "123.apps.googleusercontent.com",
      client_secret: "GOCSPX-example",
    },
  },
  deleteProvider: {
    ...owner,
    id: "authDeleteProvider",
    http: "DELETE /v1/auth/providers/{provider}",
    summary: "Delete an outside provider",
    description: "Users keep their identities of it, which work again when it is set up again.",
    effect: "destroy",
    params,
    replies: { 204: null },
    faults: ["resource_not_found"],
  },
  startProvider: {
    ...asking,
    scope: "publishable",
    id: "authStartProvider",
    http: "POST /v1/auth/providers/{provider}/start",
    summary: "Begin a sign-in by an outside provider",
    description:
      "The browser opens `url`. The provider sends it back to the platform, and that to `redirect_to` with a `code`, which `POST /v1/auth/exchange` takes within a minute, or with an `error`: `access_denied` or `provider_failed`.",
    params,
    body: T.Object(startFields),
    replies: startReplies,
    faults: ["resource_not_found", "redirect_not_allowed", "provider_unavailable"],
    example: startExample,
  },
  startLink: {
    ...asking,
    scope: "end-user",
    id: "authStartLink",
    http: "POST /v1/auth/user/identities/{provider}/start",
    summary: "Begin to link an identity of an outside provider to the signed-in user",
    description:
      "As the sign-in; the exchange links the identity. An anonymous user takes over its address, where the provider has verified it and nobody else has it.",
    params,
    body: T.Object(startFields),
    replies: startReplies,
    faults: ["resource_not_found", "redirect_not_allowed", "provider_unavailable"],
    example: startExample,
  },
  exchange: {
    ...asking,
    scope: "publishable",
    id: "authExchange",
    http: "POST /v1/auth/exchange",
    summary: "Complete a sign-in by an outside provider",
    description:
      "A known identity signs its user in. Another is linked to the user with the same address, where the provider has verified that; what somebody registered for an address that was not confirmed ends. Else a user is made, where sign-up is open. The code works once, whatever the verifier.",
    body: T.Object({
      code: T.String({ minLength: 20, maxLength: 100, description: "From the query of the page" }),
      code_verifier: T.String({
        pattern: "^[A-Za-z0-9._~-]{43,128}$",
        description: "What the challenge of the start was made of",
      }),
    }),
    replies: { 200: SignInReply },
    faults: [
      "token_invalid_or_expired",
      "provider_email_unverified",
      "signup_disabled",
      "user_banned",
      "conflict",
    ],
    secrets: ["access_token", "refresh_token", "mfa_token"],
    example: {
      code: "svc_upc_Q2hvb3NlIGEgdG9rZW4gdGhhdCBub2JvZHkgZ3Vlc3M",
      code_verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    },
  },
  listIdentities: {
    scope: "end-user",
    effect: "read",
    extension: true,
    id: "authListIdentities",
    http: "GET /v1/auth/user/identities",
    summary: "List the outside identities of the signed-in user",
    replies: {
      200: T.Object({ identities: T.Array(Identity, { description: "Oldest first" }) }),
    },
  },
  unlinkIdentity: {
    ...asking,
    scope: "end-user",
    id: "authUnlinkIdentity",
    http: "DELETE /v1/auth/user/identities/{id}",
    summary: "Remove an outside identity of the signed-in user",
    description: "Refused for the last one of a user without an address, who could not sign in any more.",
    effect: "destroy",
    params: T.Object({ id: Id }),
    replies: { 204: null },
    faults: ["resource_not_found", "conflict"],
  },
} as const satisfies Record<string, OperationSpec>

const text = (maxLength: number) => T.Optional(T.String({ maxLength }))
const answer = {
  state: T.String({ minLength: 1, maxLength: 200 }),
  code: text(4096),
  error: text(256),
  error_description: text(2048),
  iss: text(2048),
}
const callback = {
  scope: "public",
  project: "none",
  belongs: "caller",
  envelope: "page",
  effect: "write",
  transaction: "none",
  idempotency: "none",
  extension: true,
  params,
  replies: { 303: null },
  faults: ["token_invalid_or_expired"],
} as const

/** Where providers send browsers back to. */
export const providerCallbacks = {
  providerCallback: {
    ...callback,
    id: "authProviderCallback",
    http: "GET /v1/auth/providers/{provider}/callback",
    summary: "Take a provider's answer, and send the browser on to the application",
    query: T.Object(answer, openObject),
  },
  providerFormCallback: {
    ...callback,
    id: "authProviderFormCallback",
    http: "POST /v1/auth/providers/{provider}/callback",
    summary: "Take a provider's answer that comes as a form, as Apple's does",
    content: { request: "form" },
    body: T.Object(answer, openObject),
    bodyBytesMax: 65_536,
  },
} as const satisfies Record<string, OperationSpec>
