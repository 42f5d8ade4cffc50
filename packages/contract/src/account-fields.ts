/** Fields of accounts. */
import { T } from "./dsl.ts"
import { described, Id, Nullable, OneOf, Time } from "./types.ts"

/** Bytes; hashing longer passwords would let callers exhaust the CPU. */
export const PASSWORD_LENGTH_MAX = 1024
export const PASSWORD_LENGTH_MIN = 8

export const Password = T.String({
  minLength: 1,
  maxLength: PASSWORD_LENGTH_MAX,
  description: "The password as the person types it",
})

export const User = T.Object(
  {
    id: Id,
    email: T.String({ description: "E-mail address" }),
    name: T.String({ description: "Name that is shown to others" }),
    mfa_enabled: T.Boolean({ description: "True if a sign-in asks for a second factor" }),
    created_at: Time,
  },
  { description: "The signed-in person" },
)

export const Session = T.Object({
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

export const SignedIn = T.Object({
  user: described(User, "The signed-in person"),
  session: T.Object(
    { id: Id, expires_at: Time },
    { description: "The new session; its cookie is in `Set-Cookie`" },
  ),
  mfa_required: T.Literal(false, { description: "False: the sign-in is complete" }),
})

/** Seconds that a sign-in waits for its second factor. */
export const MFA_WAIT_SECONDS = 300
export const FACTORS_MAX = 10

const factorFields = {
  id: Id,
  type: OneOf(["totp"], { description: "`totp`: codes from an authenticator" }),
  friendly_name: T.String({ description: "Name that the person gave it" }),
}

export const AccountFactor = T.Object({
  ...factorFields,
  status: OneOf(["unverified", "verified"], {
    description: "Only a verified factor counts; an unverified one is deleted after a day",
  }),
  created_at: Time,
})

export const MfaToken = T.String({
  minLength: 20,
  maxLength: 100,
  description: "The `mfa_token` of the sign-in",
})

/** What the authenticator needs. */
export const NewTotp = T.Object(
  {
    secret: T.String({ description: "Shared secret in base 32" }),
    uri: T.String({ description: "Provisioning URI in the `otpauth` scheme" }),
    qr_code: T.String({ description: "The URI as a QR code: data URL of a PNG image" }),
  },
  { description: "What the authenticator needs" },
)

export const SecondCode = T.String({
  minLength: 1,
  maxLength: 32,
  description: "Six digits from an authenticator, or a recovery code",
})

export const RecoveryCodes = T.Array(T.String(), {
  description: "Ten recovery codes, shown once; each stands for the authenticator once",
})

const MfaRequired = T.Object({
  mfa_required: T.Literal(true, { description: "True: the sign-in waits for a second factor" }),
  factors: T.Array(T.Object(factorFields), { description: "Factors that complete the sign-in" }),
  mfa_token: T.String({ description: "Names this sign-in to `POST /v1/account/mfa/challenge`" }),
  expires_in: T.Integer({ description: "Seconds that the sign-in waits" }),
})

export const SignInAnswer = T.Union([SignedIn, MfaRequired])

export const SignupPending = T.Object({
  email: T.String({ description: "Address that the confirmation mail was sent to" }),
  expires_at: T.String({
    format: "date-time",
    description: "RFC 3339 time in UTC; until then the token of the mail confirms the address",
  }),
})
