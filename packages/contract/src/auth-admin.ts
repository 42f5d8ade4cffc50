/** What the owner of an application does with its users, and what everybody may read of its keys. */
import {
  AppMetadata,
  AuthSettings,
  AuthSettingsBody,
  EndUserEmail,
  ManagedUser,
  NewPassword,
  RedirectTo,
  UserMetadata,
} from "./auth-fields.ts"
import { type OperationSpec, T } from "./dsl.ts"
import { described, Email, Id, Nullable, Page, pageQuery, Time } from "./types.ts"

const owner = { scope: "admin:full", audit: "each", extension: true } as const

const PublicKey = T.Object(
  {
    kid: T.String({ description: "Id of the key" }),
    kty: T.String({ description: "Kind of key (RFC 7517)" }),
    crv: T.String({ description: "Curve" }),
    x: T.String({ description: "Coordinate of the point, base64url" }),
    y: T.String({ description: "Coordinate of the point, base64url" }),
    alg: T.String({ description: "Always `ES256`" }),
    use: T.String({ description: "Always `sig`" }),
  },
  { description: "A public key (RFC 7517)" },
)

export const adminOperations = {
  getSettings: {
    ...owner,
    id: "authGetSettings",
    http: "GET /v1/auth/settings",
    summary: "Show the project's settings of end-user auth",
    effect: "read",
    replies: { 200: AuthSettings },
  },
  putSettings: {
    ...owner,
    id: "authPutSettings",
    http: "PUT /v1/auth/settings",
    summary: "Set the project's settings of end-user auth",
    description: "What is left out gets its default.",
    effect: "write",
    idempotency: "natural",
    body: AuthSettingsBody,
    replies: { 200: AuthSettings },
    faults: ["invalid_parameter"],
    example: { signup: "open", redirect_urls: ["https://app.example.com/welcome"] },
  },
  rotateKeys: {
    ...owner,
    id: "authRotateSigningKey",
    http: "POST /v1/auth/signing-keys/rotate",
    summary: "Sign tokens with the next key from now on",
    description:
      "The next key has been published beside the present one, so that verifiers know it; a new next key is published. The old key stays published until its tokens have expired. Refused within fifteen minutes of the publication.",
    effect: "write",
    replies: {
      200: T.Object({
        kid: T.String({ description: "Id of the key that signs from now on" }),
        next_kid: T.String({ description: "Id of the next one" }),
      }),
    },
    faults: ["conflict"],
  },
  listUsers: {
    ...owner,
    id: "authListUsers",
    http: "GET /v1/auth/users",
    summary: "List the users of the application",
    effect: "read",
    query: T.Object({
      ...pageQuery,
      email: T.Optional(
        T.String({ minLength: 1, maxLength: 254, description: "Part of the address, in any case" }),
      ),
    }),
    replies: { 200: Page(ManagedUser) },
  },
  createUser: {
    ...owner,
    id: "authCreateUser",
    http: "POST /v1/auth/users",
    summary: "Create a user",
    effect: "write",
    transaction: "none",
    body: T.Object({
      email: EndUserEmail,
      password: T.Optional(NewPassword),
      email_confirmed: T.Optional(
        T.Boolean({ default: false, description: "Whether the owner knows that the address is the user's" }),
      ),
      user_metadata: T.Optional(UserMetadata),
      app_metadata: T.Optional(AppMetadata),
    }),
    replies: { 201: ManagedUser },
    faults: ["weak_password", "conflict", "validation_failed"],
    example: { email: "ada@example.com", password: "correct horse battery", email_confirmed: true },
  },
  showUser: {
    ...owner,
    id: "authShowUser",
    http: "GET /v1/auth/users/{id}",
    summary: "Show a user",
    effect: "read",
    params: T.Object({ id: Id }),
    replies: { 200: ManagedUser },
    faults: ["resource_not_found"],
  },
  manageUser: {
    ...owner,
    id: "authManageUser",
    http: "PATCH /v1/auth/users/{id}",
    summary: "Change or ban a user",
    description:
      "A new password, and a ban, end all sessions of the user and every mail that could sign in. Another address is taken as it is.",
    effect: "write",
    transaction: "none",
    params: T.Object({ id: Id }),
    body: T.Object({
      email: T.Optional(described(Email, "New e-mail address")),
      password: T.Optional(NewPassword),
      email_confirmed: T.Optional(
        T.Boolean({ description: "Whether the owner knows that the address is the user's" }),
      ),
      banned_until: T.Optional(
        Nullable(Time, {
          description: "RFC 3339 time in UTC until which the user cannot sign in; null ends a ban",
        }),
      ),
      user_metadata: T.Optional(UserMetadata),
      app_metadata: T.Optional(AppMetadata),
    }),
    replies: { 200: ManagedUser },
    faults: ["resource_not_found", "weak_password", "conflict", "validation_failed"],
    example: { app_metadata: { plan: "gold" } },
  },
  deleteUser: {
    ...owner,
    id: "authDeleteUser",
    http: "DELETE /v1/auth/users/{id}",
    summary: "Delete a user",
    effect: "destroy",
    params: T.Object({ id: Id }),
    replies: { 204: null },
    faults: ["resource_not_found"],
  },
  invite: {
    ...owner,
    id: "authInvite",
    http: "POST /v1/auth/invitations",
    summary: "Invite a user by mail",
    description:
      "Creates the user without a password and mails a link, which works once within seven days. `POST /v1/auth/verify` with the type `invite` signs in, and sets a password where one is sent.",
    effect: "write",
    body: T.Object({
      email: EndUserEmail,
      data: T.Optional(UserMetadata),
      redirect_to: T.Optional(RedirectTo),
    }),
    replies: { 201: ManagedUser },
    faults: ["conflict", "signup_disabled", "redirect_not_allowed", "validation_failed"],
    example: { email: "ada@example.com" },
  },
  jwks: {
    id: "authJwks",
    http: "GET /v1/auth/{project_id}/.well-known/jwks.json",
    summary: "Public keys that the project's access tokens are signed with",
    scope: "public",
    project: "none",
    crossOrigin: true,
    effect: "read",
    extension: true,
    params: T.Object({ project_id: Id }),
    replies: {
      200: T.Object({
        keys: T.Array(PublicKey, {
          description: "The present key, the next one, and old ones whose tokens may be valid still",
        }),
      }),
    },
    faults: ["project_not_found"],
  },
  discovery: {
    id: "authDiscovery",
    http: "GET /v1/auth/{project_id}/.well-known/openid-configuration",
    summary: "Issuer and keys of the project, for libraries that look for them",
    scope: "public",
    project: "none",
    crossOrigin: true,
    effect: "read",
    extension: true,
    params: T.Object({ project_id: Id }),
    replies: {
      200: T.Object({
        issuer: T.String({ description: "`iss` of access tokens" }),
        jwks_uri: T.String({ description: "Address of the public keys" }),
        userinfo_endpoint: T.String({ description: "Shows the user of an access token" }),
        token_endpoint: T.String({ description: "Exchanges refresh tokens" }),
        response_types_supported: T.Array(T.String(), { description: "None: users sign in by operations" }),
        subject_types_supported: T.Array(T.String(), { description: "Always `public`" }),
        id_token_signing_alg_values_supported: T.Array(T.String(), { description: "Always `ES256`" }),
        claims_supported: T.Array(T.String(), { description: "Claims of access tokens" }),
      }),
    },
    faults: ["project_not_found"],
  },
} as const satisfies Record<string, OperationSpec>
