/** Second factors of people. */
import { AccountFactor, MfaToken, NewTotp, RecoveryCodes, SecondCode, SignedIn } from "./account-fields.ts"
import { type OperationSpec, T } from "./dsl.ts"
import { described, Id, Name, Nullable, OneOf } from "./types.ts"

const own = { scope: "session", transaction: "none", extension: true } as const

export const accountMfaOperations = {
  enrollFactor: {
    ...own,
    id: "accountEnrollFactor",
    http: "POST /v1/account/mfa/enroll",
    summary: "Begin to enroll an authenticator",
    description:
      "Needs a sign-in in the last 15 minutes. The secret is shown once. The factor counts once `POST /v1/account/mfa/verify` has seen a code of it. A person has at most ten.",
    effect: "write",
    body: T.Object({ friendly_name: described(Name, "Name by which the person knows the authenticator") }),
    replies: {
      200: T.Object({
        factor_id: described(Id, "Id of the factor"),
        factor_type: OneOf(["totp"], { description: "Codes by time (RFC 6238)" }),
        friendly_name: T.String({ description: "Name that the person gave it" }),
        totp: NewTotp,
      }),
    },
    faults: ["step_up_required", "factor_name_taken", "invalid_parameter"],
    secrets: ["totp"],
    example: { friendly_name: "phone" },
  },
  verifyFactor: {
    ...own,
    id: "accountVerifyFactor",
    http: "POST /v1/account/mfa/verify",
    summary: "Complete an enrollment with a code",
    description:
      "Needs a sign-in in the last 15 minutes. Every sign-in asks for a second factor from then on, and all other sessions of the person end. With the first factor come ten recovery codes.",
    effect: "write",
    body: T.Object({
      factor_id: described(Id, "Id of the factor"),
      code: T.String({ minLength: 1, maxLength: 32, description: "Six digits from the authenticator" }),
    }),
    replies: {
      200: T.Object({
        factor_id: described(Id, "Id of the factor"),
        status: OneOf(["verified"], { description: "The factor is asked for at every sign-in from now on" }),
        recovery_codes: Nullable(RecoveryCodes, {
          description: "Ten recovery codes, shown once; null where the person has some already",
        }),
      }),
    },
    faults: ["step_up_required", "factor_not_found", "mfa_challenge_failed", "mfa_attempts_exceeded"],
    secrets: ["recovery_codes"],
    example: { factor_id: "0199cf64-0000-7000-8000-000000000000", code: "123456" },
  },
  challenge: {
    id: "accountMfaChallenge",
    action: "auth_login",
    http: "POST /v1/account/mfa/challenge",
    summary: "Complete a sign-in with a second factor",
    description:
      "Takes a code of an authenticator or a recovery code. A code works once. Five wrong ones close this way for a minute, and longer after each further one.",
    scope: "public",
    effect: "write",
    transaction: "none",
    extension: true,
    body: T.Object({ mfa_token: MfaToken, code: SecondCode }),
    replies: { 200: SignedIn },
    faults: ["mfa_challenge_failed", "mfa_challenge_expired", "mfa_attempts_exceeded"],
    example: { mfa_token: "svc_mfa_Q2hvb3NlIGEgdG9rZW4gdGhhdCBub2JvZHkgZ3Vlc3M", code: "123456" },
  },
  listFactors: {
    scope: "session",
    effect: "read",
    extension: true,
    id: "accountListFactors",
    http: "GET /v1/account/mfa/factors",
    summary: "List the second factors of the signed-in person",
    replies: {
      200: T.Object({
        factors: T.Array(AccountFactor, { description: "Oldest first; at most ten" }),
        recovery_codes_left: T.Integer({ description: "Recovery codes that were not used yet" }),
      }),
    },
  },
  deleteFactor: {
    ...own,
    id: "accountDeleteFactor",
    http: "DELETE /v1/account/mfa/factors/{id}",
    summary: "Delete a second factor",
    description: "Needs a sign-in in the last 15 minutes. With the last factor the recovery codes go.",
    effect: "destroy",
    params: T.Object({ id: Id }),
    replies: { 204: null },
    faults: ["step_up_required", "factor_not_found"],
  },
  createRecoveryCodes: {
    ...own,
    id: "accountCreateRecoveryCodes",
    http: "POST /v1/account/mfa/recovery-codes",
    summary: "Make ten recovery codes",
    description: "Needs a sign-in in the last 15 minutes, and a second factor. Earlier codes stop working.",
    effect: "write",
    replies: { 200: T.Object({ codes: RecoveryCodes }) },
    faults: ["step_up_required", "mfa_challenge_failed"],
    secrets: ["codes"],
  },
} as const satisfies Record<string, OperationSpec>
