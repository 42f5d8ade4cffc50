import { area, T } from "./dsl.ts"
import { described, Email, Id, Name, Nullable, Time } from "./types.ts"

/** Bytes; hashing longer passwords would let callers exhaust the CPU. */
export const PASSWORD_LENGTH_MAX = 1024
export const PASSWORD_LENGTH_MIN = 8

const Password = T.String({
  minLength: 1,
  maxLength: PASSWORD_LENGTH_MAX,
  description: "The password as the person types it",
})

export const User = T.Object(
  { id: Id, email: T.String(), name: T.String(), created_at: Time },
  { description: "The signed-in person" },
)

const Session = T.Object({
  id: Id,
  current: T.Boolean({ description: "True for the session that makes this request" }),
  ip: Nullable(T.String(), {
    description: "Address that the session was last used from; null when it is not known",
  }),
  user_agent: Nullable(T.String(), {
    description: "Browser or program that the session was last used with; null when it named none",
  }),
  created_at: Time,
  last_used_at: described(Time, "RFC 3339 time in UTC of the last request; may be minutes behind"),
  expires_at: Time,
})

const SignedIn = T.Object({
  user: described(User, "The signed-in person"),
  session: T.Object(
    { id: Id, expires_at: Time },
    { description: "The new session; its cookie is in `Set-Cookie`" },
  ),
})

const SignupPending = T.Object({
  email: T.String({ description: "Address that the confirmation mail was sent to" }),
  expires_at: T.String({
    format: "date-time",
    description: "RFC 3339 time in UTC; until then the token of the mail confirms the address",
  }),
})

export const account = area(
  "account",
  {
    title: "Account",
    summary: "Sign-up, sign-in and sessions of people. A session is sent as a cookie.",
    project: "none",
    belongs: "caller",
  },
  {
    signup: {
      id: "accountSignup",
      http: "POST /v1/account/signup",
      summary: "Sign up: create a user and an organization",
      description:
        "If the installation sends mail (`SVC_SMTP_URL` or `SVC_MAIL_DIRECT`), the reply is 200 and a mail is sent to the address: the user is created, and signed in, by `POST /v1/account/verify-email` with the token of the mail. The reply is the same for an address that has an account; the mail then says so. Otherwise, as in development, the reply is 201 and the user is signed in at once; an address that has an account gets 409. Limits: three mails an hour to one address from one network, ten a day to one address, and a hundred a day from one network; beyond them 429, whether or not the address has an account.",
      scope: "public",
      effect: "write",
      transaction: "none",
      extension: true,
      limit: "auth",
      body: T.Object({
        email: Email,
        password: Password,
        name: T.Optional(Name),
        organization_name: T.Optional(
          described(Name, "Name of the new organization; derived from the person's name when left out"),
        ),
        invitation_token: T.Optional(
          T.String({
            minLength: 20,
            maxLength: 100,
            description: "Token of an invitation; required where sign-up is closed",
          }),
        ),
      }),
      replies: { 200: SignupPending, 201: SignedIn },
      faults: ["weak_password", "signup_disabled", "invitation_not_found", "conflict", "service_unavailable"],
      example: { email: "ada@example.com", password: "correct horse battery", name: "Ada" },
    },
    verifyEmail: {
      id: "accountVerifyEmail",
      http: "POST /v1/account/verify-email",
      summary: "Confirm the address of a sign-up: create the user and sign in",
      description:
        "Needs the token from the mail and the password of the sign-up, so that only the person who signed up can confirm. A token is valid once, for 24 hours and for ten attempts.",
      scope: "public",
      effect: "write",
      transaction: "none",
      extension: true,
      limit: "auth",
      body: T.Object({
        token: T.String({ minLength: 20, maxLength: 100, description: "Token from the confirmation mail" }),
        password: described(Password, "The password that was given at sign-up"),
      }),
      replies: { 201: SignedIn },
      faults: [
        "token_invalid_or_expired",
        "invalid_credentials",
        "signup_disabled",
        "invitation_not_found",
        "conflict",
        "service_unavailable",
      ],
      example: {
        token: "svc_verify_Q2hvb3NlIGEgdG9rZW4gdGhhdCBub2JvZHkgZ3Vlc3M",
        password: "correct horse battery",
      },
    },
    login: {
      id: "accountLogin",
      action: "auth_login",
      http: "POST /v1/account/login",
      summary: "Sign in with e-mail and password",
      scope: "public",
      effect: "write",
      transaction: "none",
      extension: true,
      limit: "auth",
      body: T.Object({ email: T.String({ minLength: 1, maxLength: 254 }), password: Password }),
      replies: { 200: SignedIn },
      faults: ["invalid_credentials", "account_locked", "service_unavailable"],
      example: { email: "ada@example.com", password: "correct horse battery" },
    },
    resetPassword: {
      id: "accountResetPassword",
      action: "auth_password_reset_requested",
      http: "POST /v1/account/password/reset",
      summary: "Mail a token that sets a new password",
      description:
        "The reply is the same, and takes as long, whether or not the address has an account. Limits are those of sign-up, counted apart. An installation that sends no mail answers 503.",
      scope: "public",
      effect: "write",
      transaction: "none",
      extension: true,
      limit: "auth",
      body: T.Object({ email: Email }),
      replies: {
        200: T.Object({
          email: T.String({ description: "Address that the mail is sent to if it has an account" }),
          expires_at: described(Time, "RFC 3339 time in UTC; until then the token of the mail is valid"),
        }),
      },
      faults: ["service_unavailable"],
      example: { email: "ada@example.com" },
    },
    confirmPasswordReset: {
      id: "accountConfirmPasswordReset",
      action: "auth_password_reset",
      http: "POST /v1/account/password/reset/confirm",
      summary: "Set a new password with the token of a mail",
      description:
        "Ends every session of the user, and every other mail that sets a password. An account that was locked after failed sign-ins is free again. It does not sign in.",
      scope: "public",
      effect: "write",
      transaction: "none",
      extension: true,
      limit: "auth",
      body: T.Object({
        token: T.String({ minLength: 20, maxLength: 100, description: "Token from the mail" }),
        password: described(Password, "New password"),
      }),
      replies: { 204: null },
      faults: ["token_invalid_or_expired", "weak_password", "service_unavailable"],
      example: {
        token: "svc_reset_Q2hvb3NlIGEgdG9rZW4gdGhhdCBub2JvZHkgZ3Vlc3M",
        password: "new horse battery",
      },
    },
    reauthenticate: {
      id: "accountReauthenticate",
      action: "auth_login",
      http: "POST /v1/account/reauthenticate",
      summary: "Re-authenticate with the password, for operations that need a recent sign-in",
      scope: "session",
      effect: "write",
      transaction: "none",
      extension: true,
      limit: "auth",
      body: T.Object({ password: Password }),
      replies: {
        200: T.Object({ authenticated_at: described(Time, "RFC 3339 time in UTC of this password check") }),
      },
      faults: ["invalid_credentials", "account_locked", "service_unavailable"],
      example: { password: "correct horse battery" },
    },
    logout: {
      id: "accountLogout",
      action: "auth_logout",
      http: "POST /v1/account/logout",
      summary: "End this session",
      scope: "session",
      effect: "write",
      extension: true,
      replies: { 204: null },
    },
    get: {
      id: "getAccount",
      http: "GET /v1/account",
      summary: "Show the signed-in user",
      scope: "session",
      effect: "read",
      extension: true,
      replies: { 200: User },
    },
    update: {
      id: "updateAccount",
      http: "PATCH /v1/account",
      summary: "Change the name or the password of the signed-in user",
      description: "A password change needs `current_password` and ends every other session.",
      scope: "session",
      effect: "write",
      transaction: "none",
      extension: true,
      body: T.Object({
        name: T.Optional(Name),
        password: T.Optional(described(Password, "New password")),
        current_password: T.Optional(described(Password, "Present password; required to set a new one")),
      }),
      replies: { 200: User },
      faults: [
        "missing_parameter",
        "invalid_credentials",
        "weak_password",
        "account_locked",
        "service_unavailable",
      ],
      example: { name: "Ada L." },
    },
    listSessions: {
      id: "listAccountSessions",
      http: "GET /v1/account/sessions",
      summary: "List the sessions of the signed-in user",
      scope: "session",
      effect: "read",
      extension: true,
      replies: {
        200: T.Object({
          sessions: T.Array(Session, { description: "Active sessions, most recently used first" }),
        }),
      },
    },
    endSession: {
      id: "endAccountSession",
      http: "DELETE /v1/account/sessions/{id}",
      summary: "End one of the signed-in user's sessions",
      scope: "session",
      effect: "destroy",
      extension: true,
      params: T.Object({ id: Id }),
      replies: { 204: null },
      faults: ["resource_not_found"],
    },
  },
)
