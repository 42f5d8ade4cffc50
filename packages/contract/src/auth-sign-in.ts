/** Operations by which users of an application sign up and in: with a publishable key. */
import {
  EndUserEmail,
  EndUserPassword,
  MailedCode,
  MailedToken,
  NewPassword,
  Nothing,
  RedirectTo,
  SessionReply,
  SignInReply,
  SignupPending,
  UserMetadata,
} from "./auth-fields.ts"
import { type OperationSpec, T } from "./dsl.ts"
import { Email, eitherOr, exactlyOne, OneOf } from "./types.ts"

const BODY_BYTES_MAX = 65_536

const open = {
  scope: "publishable",
  effect: "write",
  transaction: "none",
  extension: true,
  bodyBytesMax: BODY_BYTES_MAX,
} as const

const mailed = {
  ...open,
  limit: "auth",
  replies: { 200: Nothing },
  faults: ["redirect_not_allowed"],
} as const

export const signInOperations = {
  signup: {
    ...open,
    id: "authSignup",
    http: "POST /v1/auth/signup",
    summary: "Sign a user up",
    description:
      "Without confirmation of addresses the user is signed in at once, and an address that has a user gets 409. With it the reply is the same for an address that has a user, and the mail tells its owner.",
    limit: "auth",
    body: T.Object({
      email: EndUserEmail,
      password: NewPassword,
      data: T.Optional(UserMetadata),
      redirect_to: T.Optional(RedirectTo),
    }),
    replies: { 200: T.Union([SessionReply, SignupPending]) },
    faults: ["weak_password", "signup_disabled", "redirect_not_allowed", "conflict", "validation_failed"],
    secrets: ["access_token", "refresh_token"],
    example: { email: "ada@example.com", password: "correct horse battery" },
  },
  anonymous: {
    ...open,
    id: "authAnonymous",
    http: "POST /v1/auth/anonymous",
    summary: "Sign in without an address",
    description:
      "Makes a user with neither address nor password, where the settings allow it. `POST /v1/auth/user/link` gives them both later, and they stay the same user. One who is not signed in any more cannot come back, and is deleted 30 days after the last sign-in.",
    limit: "auth",
    body: T.Object({ data: T.Optional(UserMetadata) }),
    replies: { 200: SessionReply },
    faults: ["signup_disabled", "validation_failed"],
    secrets: ["access_token", "refresh_token"],
    example: { data: { cart: "7K2MQ" } },
  },
  login: {
    ...open,
    id: "authLogin",
    http: "POST /v1/auth/login",
    summary: "Sign a user in with e-mail and password",
    description:
      "Where the user has a second factor the reply has `mfa_required: true`, and `POST /v1/auth/mfa/challenge` completes the sign-in within five minutes.",
    limit: "auth",
    body: T.Object({
      email: T.String({ minLength: 1, maxLength: 254, description: "E-mail address of the user" }),
      password: EndUserPassword,
    }),
    replies: { 200: SignInReply },
    faults: ["invalid_credentials", "account_locked", "email_not_confirmed", "user_banned"],
    secrets: ["access_token", "refresh_token", "mfa_token"],
    example: { email: "ada@example.com", password: "correct horse battery" },
  },
  refresh: {
    ...open,
    id: "authRefresh",
    http: "POST /v1/auth/refresh",
    summary: "Exchange a refresh token for new tokens",
    description:
      "A refresh token works once. Sent again within ten seconds, as by tabs of one browser, it gets the same next token; later its session ends, because somebody else has it too.",
    body: T.Object({
      refresh_token: T.String({ minLength: 1, maxLength: 200, description: "The last refresh token" }),
    }),
    replies: { 200: SessionReply },
    faults: ["refresh_token_invalid", "refresh_token_reused", "user_banned"],
    secrets: ["access_token", "refresh_token"],
    example: { refresh_token: "svc_urt_AZrLz5cQcAGWq2x0X3oAAAAAAQ" },
  },
  resetPassword: {
    ...mailed,
    id: "authResetPassword",
    http: "POST /v1/auth/password/reset",
    summary: "Mail a link that sets a new password",
    description: "The reply is the same whether or not the address has a user.",
    body: T.Object({ email: EndUserEmail, redirect_to: T.Optional(RedirectTo) }),
    example: { email: "ada@example.com" },
  },
  confirmReset: {
    ...open,
    id: "authConfirmReset",
    http: "POST /v1/auth/password/reset/confirm",
    summary: "Set a new password with the token of a mail",
    description:
      "Ends all sessions of the user, and every other mail that could sign in. It does not sign in: a second factor is asked for at the next sign-in as always.",
    body: T.Object({ token: MailedToken, password: NewPassword }),
    replies: { 200: Nothing },
    faults: ["token_invalid_or_expired", "weak_password"],
    example: { token: "svc_umt_Q2hvb3NlIGEgdG9rZW4gdGhhdCBub2JvZHkgZ3Vlc3M", password: "new horse battery" },
  },
  verify: {
    ...open,
    id: "authVerify",
    http: "POST /v1/auth/verify",
    summary: "Complete what a mail began, and sign in",
    description:
      "With the token of the link, or with the address and the code of the mail. Confirming an address ends whatever somebody else registered for it before: sessions, second factors, and the password, unless `password` proves that it is the same person, or the request comes from the network of the sign-up.",
    body: T.Object(
      {
        type: OneOf(["signup", "magiclink", "otp", "invite", "email_change"], {
          description: "Kind of the mail",
        }),
        token: T.Optional(MailedToken),
        email: T.Optional(Email),
        code: T.Optional(MailedCode),
        password: T.Optional(EndUserPassword),
      },
      eitherOr(exactlyOne("token", "code")),
    ),
    replies: { 200: SignInReply },
    faults: ["token_invalid_or_expired", "missing_parameter", "weak_password", "user_banned"],
    secrets: ["access_token", "refresh_token", "mfa_token"],
    example: { type: "signup", token: "svc_umt_Q2hvb3NlIGEgdG9rZW4gdGhhdCBub2JvZHkgZ3Vlc3M" },
  },
  resend: {
    ...mailed,
    id: "authResend",
    http: "POST /v1/auth/resend",
    summary: "Mail the confirmation of an address again",
    description: "The reply is the same whether or not there is something to confirm.",
    body: T.Object({
      type: OneOf(["signup"], { description: "Kind of the mail" }),
      email: EndUserEmail,
      redirect_to: T.Optional(RedirectTo),
    }),
    example: { type: "signup", email: "ada@example.com" },
  },
  magicLink: {
    ...mailed,
    id: "authMagicLink",
    http: "POST /v1/auth/magic-link",
    summary: "Mail a link that signs in",
    description:
      "The reply is the same whether or not the address has a user. The link works once, for an hour.",
    body: T.Object({ email: EndUserEmail, redirect_to: T.Optional(RedirectTo) }),
    example: { email: "ada@example.com" },
  },
  otp: {
    ...mailed,
    id: "authOtp",
    http: "POST /v1/auth/otp",
    summary: "Mail a code that signs in",
    description: "The reply is the same whether or not the address has a user. Five wrong codes end it.",
    body: T.Object({ email: EndUserEmail }),
    faults: [],
    example: { email: "ada@example.com" },
  },
} as const satisfies Record<string, OperationSpec>
