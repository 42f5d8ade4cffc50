import { MfaToken, SecondCode } from "./account-fields.ts"
import { area, T } from "./dsl.ts"
import { Id } from "./types.ts"

const page = { reply: "bytes", replyTypes: ["text/html"] } as const
const form = { request: "form", ...page } as const
const params = T.Object({ id: Id })
/** A box that is ticked, or several. */
const Boxes = T.Optional(
  T.Union([T.String({ maxLength: 64 }), T.Array(T.String({ maxLength: 64 }), { maxItems: 65 })]),
)
const Field = T.String({ maxLength: 1024 })

/** Pages for people: no script runs on them. They call the operations of `oauth` in the person's name. */
export const oauthPages = area(
  "oauthPages",
  {
    title: "OAuth pages",
    summary: "Pages on which a person signs in, consents to an app and enters the code of a device",
    project: "none",
    belongs: "caller",
    envelope: "page",
  },
  {
    consent: {
      id: "showOAuthConsent",
      http: "GET /oauth/consent/{id}",
      summary: "Show what an app asks for",
      scope: "public",
      effect: "read",
      extension: true,
      content: page,
      params,
      replies: { 200: T.String() },
      faults: ["resource_not_found"],
    },
    decide: {
      id: "submitOAuthConsent",
      http: "POST /oauth/consent/{id}",
      summary: "Decide",
      scope: "public",
      effect: "write",
      transaction: "none",
      idempotency: "none",
      extension: true,
      content: form,
      params,
      body: T.Object({
        csrf: Field,
        action: Field,
        project: T.Optional(T.String({ maxLength: 64 })),
        scope: Boxes,
      }),
      bodyBytesMax: 65_536,
      replies: { 200: T.String(), 303: null },
      faults: [
        "csrf_failed",
        "session_required",
        "resource_not_found",
        "project_required",
        "project_not_in_organization",
        "role_insufficient",
        "invalid_scope",
        "scope_exceeds_creator",
        "plan_limit_reached",
      ],
    },
    signIn: {
      id: "submitOAuthSignIn",
      http: "POST /oauth/consent/{id}/sign-in",
      summary: "Sign in",
      scope: "public",
      effect: "write",
      transaction: "none",
      idempotency: "none",
      limit: "auth",
      extension: true,
      content: form,
      params,
      body: T.Object({ email: T.String({ minLength: 1, maxLength: 254 }), password: Field }),
      bodyBytesMax: 65_536,
      replies: { 200: T.String(), 303: null },
      faults: ["csrf_failed", "resource_not_found"],
    },
    giveCode: {
      id: "submitOAuthCode",
      http: "POST /oauth/consent/{id}/code",
      summary: "Complete a sign-in with a second factor",
      scope: "public",
      effect: "write",
      transaction: "none",
      idempotency: "none",
      extension: true,
      content: form,
      params,
      body: T.Object({ mfa_token: MfaToken, code: SecondCode }),
      bodyBytesMax: 65_536,
      replies: { 200: T.String(), 303: null },
      faults: ["csrf_failed", "resource_not_found"],
    },
    device: {
      id: "showOAuthDevice",
      http: "GET /oauth/device",
      summary: "Ask for the code that a device shows",
      scope: "public",
      effect: "read",
      extension: true,
      content: page,
      query: T.Object({ user_code: T.Optional(T.String({ maxLength: 32 })) }),
      replies: { 200: T.String() },
    },
    enterCode: {
      id: "submitOAuthDevice",
      http: "POST /oauth/device",
      summary: "Find what the device asks for",
      scope: "public",
      effect: "read",
      limit: "auth",
      extension: true,
      content: form,
      body: T.Object({ user_code: T.String({ maxLength: 32 }) }),
      bodyBytesMax: 65_536,
      replies: { 200: T.String(), 303: null },
      faults: ["csrf_failed"],
    },
  },
)
