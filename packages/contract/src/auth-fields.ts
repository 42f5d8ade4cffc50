/** Fields of end-user auth. */
import { PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN } from "./account-fields.ts"
import { T } from "./dsl.ts"
import { described, Email, Id, Nullable, OneOf, Time } from "./types.ts"

export const REDIRECT_URLS_MAX = 50
export const END_USER_SESSIONS_MAX = 50
/** Bytes of the metadata of one user, as JSON. */
export const USER_METADATA_BYTES_MAX = 16_384
export const ACCESS_TOKEN_SECONDS_DEFAULT = 3_600
export const SESSION_IDLE_SECONDS_DEFAULT = 30 * 86_400
export const SESSION_LIFETIME_SECONDS_DEFAULT = 90 * 86_400

const DAY_SECONDS = 86_400

export const EndUserEmail = described(Email, "E-mail address of the user")
export const EndUserPassword = T.String({
  minLength: 1,
  maxLength: PASSWORD_LENGTH_MAX,
  description: "The password as the person types it",
})
export const NewPassword = described(EndUserPassword, "New password")

export const UserMetadata = T.Record(T.String(), T.Unknown(), {
  description:
    "What the application keeps of the user, which the user can change; at most 16 KiB of JSON. A field that is null is removed",
})
export const AppMetadata = T.Record(T.String(), T.Unknown(), {
  description: "What the owner of the application keeps of the user, which the user can read and not change",
})

export const RedirectTo = T.String({
  minLength: 1,
  maxLength: 2048,
  description:
    "Page that the link of the mail opens, with `token` and `type` in its query. It must be among `redirect_urls` of the project's settings",
})

export const MailedToken = T.String({ minLength: 20, maxLength: 100, description: "Token from the mail" })
export const MailedCode = T.String({ pattern: "^ *\\d{6} *$", description: "Six digits from the mail" })

export const Code = T.String({
  minLength: 1,
  maxLength: 32,
  description: "Six digits from the authenticator",
})

const factorFields = {
  id: Id,
  type: OneOf(["totp"], { description: "`totp`: codes from an authenticator" }),
  friendly_name: T.String({ description: "Name that the user gave it" }),
}

export const Factor = T.Object({
  ...factorFields,
  status: OneOf(["unverified", "verified"], {
    description: "Only a verified factor counts; an unverified one is deleted after a day",
  }),
  created_at: Time,
})

export const endUserFields = {
  id: Id,
  aud: described(Id, "Id of the project"),
  role: T.String({ description: "Always `authenticated`" }),
  email: Nullable(T.String(), { description: "E-mail address; null for a user without one" }),
  email_confirmed_at: Nullable(Time, {
    description: "RFC 3339 time in UTC when the address was confirmed; null while it is not",
  }),
  last_sign_in_at: Nullable(Time, { description: "RFC 3339 time in UTC; null before the first sign-in" }),
  app_metadata: AppMetadata,
  user_metadata: UserMetadata,
  factors: T.Array(Factor, { description: "Second factors, oldest first" }),
  is_anonymous: T.Boolean({
    description: "True for a user who signed in without an address, until they link one",
  }),
  created_at: Time,
  updated_at: Time,
}

export const EndUser = T.Object(endUserFields)

export const ManagedUser = T.Object({
  ...endUserFields,
  banned_until: Nullable(Time, {
    description: "RFC 3339 time in UTC until which the user cannot sign in; null for a user who can",
  }),
})

const tokenFields = {
  access_token: T.String({
    description: "JWT (ES256) that proves who the user is, for `expires_in` seconds",
  }),
  token_type: OneOf(["bearer"], { description: "How the access token is sent" }),
  expires_in: T.Integer({ description: "Seconds that the access token is valid" }),
  expires_at: T.Integer({ description: "Unix time in seconds when it expires" }),
  refresh_token: T.String({
    description: "Exchanged once for the next tokens by `POST /v1/auth/refresh`",
  }),
  user: described(EndUser, "The signed-in user"),
  mfa_required: T.Literal(false, { description: "False: the sign-in is complete" }),
}

export const SessionReply = T.Object(tokenFields)

export const FactorVerified = T.Object({
  factor_id: described(Id, "Id of the factor"),
  status: OneOf(["verified"], { description: "The factor is asked for at every sign-in from now on" }),
  ...tokenFields,
})

export const MfaRequired = T.Object({
  mfa_required: T.Literal(true, { description: "True: the sign-in waits for a second factor" }),
  factors: T.Array(T.Object(factorFields), { description: "Factors that complete the sign-in" }),
  mfa_token: T.String({ description: "Names this sign-in to `POST /v1/auth/mfa/challenge`" }),
  expires_in: T.Integer({ description: "Seconds that the sign-in waits" }),
})

export const SignInReply = T.Union([SessionReply, MfaRequired])

export const SignupPending = T.Object({
  user: described(EndUser, "The new user; made up where the address has a user already"),
  confirmation_sent_at: described(Time, "RFC 3339 time in UTC of the mail that confirms the address"),
})

/** Nothing, so that the reply does not tell whether there is a user. */
export const Nothing = T.Object({})

export const EndUserSession = T.Object({
  id: Id,
  current: T.Boolean({ description: "True for the session that makes this request" }),
  level: OneOf(["aal1", "aal2"], { description: "`aal2`: signed in with a second factor" }),
  ip: T.String({ description: "Address that the session began at" }),
  user_agent: Nullable(T.String(), { description: "Browser or program; null when it named none" }),
  created_at: Time,
  last_used_at: described(Time, "RFC 3339 time in UTC of the last refresh"),
  expires_at: Time,
})

const TEMPLATES = ["signup", "known", "recovery", "magiclink", "otp", "invite", "email_change"] as const
export type AuthMailKind = (typeof TEMPLATES)[number]

const settingsFields = {
  name: T.String({
    minLength: 1,
    maxLength: 64,
    pattern: "^[^\\u0000-\\u001f\\u007f]+$",
    description: "Name of the application, in mails and authenticators",
  }),
  signup: OneOf(["open", "invitation", "closed"], {
    description:
      "`open`: anybody signs up; `invitation`: only people whom the owner invited; `closed`: nobody, and invitations are refused",
  }),
  confirm_email: T.Boolean({
    description:
      "Whether an address must be confirmed before the first sign-in. Unless set, it must in production mode",
  }),
  anonymous: T.Boolean({
    description: "Whether `POST /v1/auth/anonymous` makes users without an address. Unless set, it does not",
  }),
  redirect_urls: T.Array(T.String({ minLength: 1, maxLength: 2048 }), {
    maxItems: REDIRECT_URLS_MAX,
    uniqueItems: true,
    description:
      "Pages that links of mails may open, exactly or, where the entry ends in `/*`, by the beginning of the path. The first is the default",
  }),
  password_length_min: T.Integer({
    minimum: PASSWORD_LENGTH_MIN,
    maximum: 64,
    description: "Characters that a new password needs",
  }),
  access_token_seconds: T.Integer({
    minimum: 60,
    maximum: DAY_SECONDS,
    description: "Seconds that an access token is valid",
  }),
  session_idle_seconds: T.Integer({
    minimum: 300,
    maximum: 365 * DAY_SECONDS,
    description: "Seconds after which a session that is not refreshed ends",
  }),
  session_lifetime_seconds: T.Integer({
    minimum: 300,
    maximum: 365 * DAY_SECONDS,
    description: "Seconds after which every session ends",
  }),
}

const templates = Object.fromEntries(
  TEMPLATES.map(kind => [
    kind,
    T.Optional(
      T.String({ minLength: 1, maxLength: 100, description: `Template of mails of the kind ${kind}` }),
    ),
  ]),
) as Record<AuthMailKind, ReturnType<typeof T.Optional<ReturnType<typeof T.String>>>>

const MailTemplates = T.Object(templates, {
  description:
    "Names of templates of the email area; the platform's own text where there is none. They are given `app`, `token`, `code`, `link` and `expires_at`",
})

export const AuthSettings = T.Object({ ...settingsFields, mail_templates: MailTemplates, updated_at: Time })

export const AuthSettingsBody = T.Object({
  name: T.Optional(settingsFields.name),
  signup: T.Optional(settingsFields.signup),
  confirm_email: T.Optional(settingsFields.confirm_email),
  anonymous: T.Optional(settingsFields.anonymous),
  redirect_urls: T.Optional(settingsFields.redirect_urls),
  password_length_min: T.Optional(settingsFields.password_length_min),
  access_token_seconds: T.Optional(settingsFields.access_token_seconds),
  session_idle_seconds: T.Optional(settingsFields.session_idle_seconds),
  session_lifetime_seconds: T.Optional(settingsFields.session_lifetime_seconds),
  mail_templates: T.Optional(MailTemplates),
})
