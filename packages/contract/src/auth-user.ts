/** Operations of a signed-in user of an application: with an access token. */
import { MfaToken, NewTotp } from "./account-fields.ts"
import {
  Code,
  EndUser,
  EndUserEmail,
  EndUserPassword,
  EndUserSession,
  Factor,
  FactorVerified,
  NewPassword,
  RedirectTo,
  SessionReply,
  UserMetadata,
} from "./auth-fields.ts"
import { type OperationSpec, T } from "./dsl.ts"
import { described, Email, Id, Name, OneOf } from "./types.ts"

const own = { scope: "end-user", transaction: "none", extension: true, bodyBytesMax: 65_536 } as const
const specified = { scope: "end-user", transaction: "none", effect: "write" } as const
const read = { scope: "end-user", effect: "read", extension: true } as const

export const userOperations = {
  logout: {
    ...own,
    id: "authLogout",
    http: "POST /v1/auth/logout",
    summary: "End sessions of the signed-in user",
    effect: "write",
    body: T.Object({
      scope: T.Optional(
        OneOf(["local", "global", "others"], {
          default: "local",
          description: "`local`: this session; `others`: all others; `global`: all",
        }),
      ),
    }),
    replies: { 204: null },
    example: { scope: "local" },
  },
  getUser: {
    ...read,
    id: "authGetUser",
    http: "GET /v1/auth/user",
    summary: "Show the signed-in user",
    replies: { 200: EndUser },
  },
  updateUser: {
    ...own,
    id: "authUpdateUser",
    http: "PATCH /v1/auth/user",
    summary: "Change the signed-in user",
    description:
      "A new password or address needs `current_password` where the user has one. A new password ends all other sessions and every mail that could sign in. A new address is mailed a link, and holds once that is followed.",
    effect: "write",
    body: T.Object({
      email: T.Optional(described(Email, "New e-mail address")),
      password: T.Optional(NewPassword),
      current_password: T.Optional(described(EndUserPassword, "Present password")),
      data: T.Optional(UserMetadata),
      redirect_to: T.Optional(RedirectTo),
    }),
    replies: { 200: EndUser },
    faults: [
      "missing_parameter",
      "invalid_credentials",
      "weak_password",
      "account_locked",
      "redirect_not_allowed",
      "validation_failed",
    ],
    example: { data: { theme: "dark" } },
  },
  linkAddress: {
    ...own,
    id: "authLinkAddress",
    http: "POST /v1/auth/user/link",
    summary: "Give an anonymous user an address",
    description:
      "The user keeps id, sessions and metadata. Without confirmation of addresses the address holds at once, and one that has a user gets 409. With it a link is mailed, the reply is the same for an address that has a user, and `POST /v1/auth/verify` with the type `email_change` completes it; unless it carries the password, or comes from the network of the request, what the user had before ends, as after a sign-up.",
    effect: "write",
    limit: "auth",
    body: T.Object({
      email: EndUserEmail,
      password: T.Optional(NewPassword),
      redirect_to: T.Optional(RedirectTo),
    }),
    replies: { 200: EndUser },
    faults: ["weak_password", "redirect_not_allowed", "signup_disabled", "conflict"],
    example: { email: "ada@example.com", password: "correct horse battery" },
  },
  listSessions: {
    ...read,
    id: "authListSessions",
    http: "GET /v1/auth/sessions",
    summary: "List the sessions of the signed-in user",
    replies: {
      200: T.Object({
        sessions: T.Array(EndUserSession, { description: "Active sessions, last used first; at most 50" }),
      }),
    },
  },
  revokeSession: {
    ...own,
    id: "authRevokeSession",
    http: "DELETE /v1/auth/sessions/{id}",
    summary: "End a session of the signed-in user",
    effect: "destroy",
    params: T.Object({ id: Id }),
    replies: { 204: null },
    faults: ["resource_not_found"],
  },
} as const satisfies Record<string, OperationSpec>

export const mfaOperations = {
  enroll: {
    ...specified,
    id: "enrollMfaFactor",
    http: "POST /v1/auth/mfa/enroll",
    summary: "Begin to enroll an authenticator",
    description:
      "The secret is shown once. The factor counts once `POST /v1/auth/mfa/verify` has seen a code of it. A user has at most ten; where one is verified, a session without a second factor cannot enroll another.",
    body: T.Object({ friendly_name: described(Name, "Name by which the user knows the authenticator") }),
    replies: {
      200: T.Object({
        factor_id: described(Id, "Id of the factor"),
        factor_type: OneOf(["totp"], { description: "Codes by time (RFC 6238)" }),
        friendly_name: T.String({ description: "Name that the user gave it" }),
        totp: NewTotp,
      }),
    },
    faults: ["factor_name_taken", "invalid_parameter", "mfa_challenge_failed"],
    secrets: ["totp"],
    example: { friendly_name: "phone" },
  },
  verifyFactor: {
    ...specified,
    id: "verifyMfaFactor",
    http: "POST /v1/auth/mfa/verify",
    summary: "Complete an enrollment with a code, or prove a factor in a session",
    description:
      "The session has a second factor from then on; all other sessions of the user end when a factor is verified.",
    body: T.Object({ factor_id: described(Id, "Id of the factor"), code: Code }),
    replies: { 200: FactorVerified },
    faults: ["mfa_challenge_failed", "mfa_attempts_exceeded"],
    secrets: ["access_token", "refresh_token"],
    example: { factor_id: "0199cf64-0000-7000-8000-000000000000", code: "123456" },
  },
  challenge: {
    id: "challengeMfaFactor",
    http: "POST /v1/auth/mfa/challenge",
    summary: "Complete a sign-in with a code",
    description:
      "The sign-in is named by `mfa_token`. Without it, it is the last one of the factor's user from the same network. A code works once.",
    scope: "public",
    project: "none",
    crossOrigin: true,
    effect: "write",
    transaction: "none",
    body: T.Object({
      factor_id: described(Id, "Id of the factor"),
      code: Code,
      mfa_token: T.Optional(MfaToken),
    }),
    replies: { 200: SessionReply },
    faults: ["mfa_challenge_failed", "mfa_challenge_expired", "mfa_attempts_exceeded"],
    secrets: ["access_token", "refresh_token"],
    example: { factor_id: "0199cf64-0000-7000-8000-000000000000", code: "123456" },
  },
  listFactors: {
    ...read,
    id: "authListFactors",
    http: "GET /v1/auth/mfa/factors",
    summary: "List the second factors of the signed-in user",
    replies: {
      200: T.Object({ factors: T.Array(Factor, { description: "Oldest first; at most ten" }) }),
    },
  },
  deleteFactor: {
    ...own,
    id: "authDeleteFactor",
    http: "DELETE /v1/auth/mfa/factors/{id}",
    summary: "Delete a second factor",
    description:
      "A verified one is deleted by a session with a second factor only. With the last one the recovery codes go.",
    effect: "destroy",
    params: T.Object({ id: Id }),
    replies: { 200: T.Object({ id: Id }) },
    faults: ["factor_not_found", "mfa_challenge_failed"],
  },
  createRecoveryCodes: {
    ...own,
    id: "authCreateRecoveryCodes",
    http: "POST /v1/auth/mfa/recovery-codes",
    summary: "Make ten recovery codes",
    description:
      "Shown once; earlier ones stop working. Needs a session with a second factor. Each code completes one sign-in in the place of the authenticator.",
    effect: "write",
    replies: { 200: T.Object({ codes: T.Array(T.String(), { description: "Ten codes" }) }) },
    faults: ["mfa_challenge_failed"],
    secrets: ["codes"],
  },
  useRecoveryCode: {
    id: "authUseRecoveryCode",
    http: "POST /v1/auth/mfa/recovery-codes/verify",
    summary: "Complete a sign-in with a recovery code",
    scope: "public",
    project: "none",
    crossOrigin: true,
    effect: "write",
    transaction: "none",
    extension: true,
    body: T.Object({
      code: T.String({ minLength: 1, maxLength: 32, description: "One of the ten codes" }),
      mfa_token: MfaToken,
    }),
    replies: { 200: SessionReply },
    faults: ["mfa_challenge_failed", "mfa_challenge_expired", "mfa_attempts_exceeded"],
    secrets: ["access_token", "refresh_token"],
    example: { code: "7K2MQ-X9D4T", mfa_token: "svc_uml_Q2hvb3NlIGEgdG9rZW4gdGhhdCBub2JvZHkgZ3Vlc3M" },
  },
} as const satisfies Record<string, OperationSpec>
