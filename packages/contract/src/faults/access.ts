import type { FaultSpec } from "./spec.ts"

/** 401: who is calling is not established. */
export const credentialFaults = {
  missing_credentials: {
    status: 401,
    text: "an API key is required in the Authorization header",
    help: "Send `Authorization: Bearer <key>`. The first start writes a key to `first-run.json` in its data directory; a signed-in person (`POST /v1/account/login`) creates others with `POST /v1/keys`.",
  },
  invalid_api_key: {
    status: 401,
    text: "the API key is not valid",
    help: "The key is misspelt, cut off, or was never issued by this installation. Copy the whole key again, or create a new one with `POST /v1/keys` as a signed-in person; the secret is shown only once.",
  },
  api_key_revoked: {
    status: 401,
    text: "the API key was revoked",
    help: "Revocation is permanent. Create a new key with `POST /v1/keys` as a signed-in person, and replace this one wherever it is used.",
  },
  api_key_expired: {
    status: 401,
    text: "the API key has expired",
    help: "Keys expire after 90 days unless another period was chosen, and the old secret of a rotated key stops working after its grace period. Create a new key, or use the one that replaced it.",
  },
  signature_invalid: {
    status: 401,
    text: "the signature does not match the request",
    help: "The secret access key is wrong, or something changed the request after it was signed: a proxy that rewrites the path or the host, or a tool that escapes the key differently. Fetch the credentials anew with `POST /v1/storage/s3-credentials`, and sign for the host that is in the request.",
  },
  signature_expired: {
    status: 401,
    text: "the signed URL has expired",
    help: "A presigned URL is valid until the time that was chosen when it was signed, at most seven days. Sign a new one.",
  },
  request_time_skewed: {
    status: 401,
    text: "the time of the request is too far from the server's",
    help: "A signed request is valid for 15 minutes. Correct the clock of the client, or sign the request again shortly before sending it.",
  },
  session_expired: {
    status: 401,
    text: "the session has ended",
    help: "Sign in again.",
  },
  token_invalid: {
    status: 401,
    text: "the access token is not valid",
    help: "The token was modified or was not issued for this project. Sign in again to get a new one.",
  },
  token_expired: {
    status: 401,
    text: "the access token has expired",
    help: "Get a new one with `POST /v1/auth/refresh` and the refresh token, or sign in again.",
  },
  invalid_credentials: {
    status: 401,
    text: "the e-mail address or the password is wrong",
    help: "The error does not say which of the two, so that it cannot be used to find accounts. Check both and try again. A signed-in person changes the password with `PATCH /v1/account`; there is no operation for a forgotten password yet.",
  },
  refresh_token_invalid: {
    status: 401,
    text: "the refresh token is not valid or has expired",
    help: "Sign in again to start a new session.",
  },
  refresh_token_reused: {
    status: 401,
    text: "the refresh token was already used",
    help: "A refresh token works once; a second use may mean it was stolen, so the session was ended. Sign in again, and store the new refresh token after each refresh.",
  },
  mfa_challenge_failed: {
    status: 401,
    text: "the second factor was not accepted",
    help: "The code is wrong, or this sign-in was not started with a password. Enter the current code, or sign in again.",
  },
  mfa_challenge_expired: {
    status: 401,
    text: "the sign-in waited too long for the second factor",
    help: "A code must follow the password within five minutes. Sign in again.",
  },
  publishable_key_invalid: {
    status: 401,
    text: "the publishable key is not valid",
    help: "Send the project's `svc_pk_` key with the request.",
    planned: true,
  },
  oauth_invalid_client: {
    status: 401,
    text: "the client could not be authenticated",
    help: "The client id is unknown or its secret is wrong. Check how the client registered and which authentication method it chose.",
  },
} as const satisfies Record<string, FaultSpec>

/** 402: the operation would cost more than is available. */
export const paymentFaults = {
  ai_budget_exhausted: {
    status: 402,
    text: "the AI budget is used up",
    help: "What AI requests of this month cost, and what those under way can cost, reaches the organization's limit. Raise it with `PUT /v1/ai/budget`, ask for fewer tokens, or wait for the first of the month (UTC).",
  },
  credits_exhausted: {
    status: 402,
    text: "the credit balance is used up",
    help: "Buy credit with `POST /v1/billing/credits/{tenant_id}/checkout`, or enable overage with `POST /v1/billing/overage/{tenant_id}`.",
  },
  spending_cap_reached: {
    status: 402,
    text: "the spending cap is reached",
    help: "The cap set for this organization stops further spending. Raise it with `PUT /v1/billing/spending-cap/{tenant_id}`, remove it, or wait for the first of the month (UTC).",
  },
  plan_limit_reached: {
    status: 402,
    text: "the plan's limit is reached[: your plan allows {limit} {resources}]",
    help: "Delete something you no longer need, or change the plan. The operator of the installation assigns a plan with `PUT /v1/organizations/{org_id}/plan`.",
  },
  payment_method_required: {
    status: 402,
    text: "a payment method is required",
    help: "Add a payment method, then repeat the request.",
    planned: true,
  },
  payment_failed: {
    status: 402,
    text: "the payment was not accepted[: {reason}]",
    help: "Nothing was charged. Check the payment method with its issuer or choose another one, then try again.",
    planned: true,
  },
} as const satisfies Record<string, FaultSpec>

/** 403: the caller is known and may not do this. */
export const permissionFaults = {
  missing_scope: {
    status: 403,
    text: "missing scope[: {scopes}]",
    help: "The key is valid but lacks a scope this operation needs; any one of those named is enough. Scopes cannot be added to a key, so create a key that has it.",
  },
  tenant_mismatch: {
    status: 403,
    text: "the tenant id is not that of the key's organization",
    help: "The tenant is always taken from the key; an id in the path or body must equal it. `GET /v1/me` shows the organization's id.",
  },
  publishable_key_not_allowed: {
    status: 403,
    text: "publishable keys cannot be used for resource operations",
    help: "A `svc_pk_` key only names the project to the `/v1/auth` routes. Call this operation from a server with a secret key.",
  },
  key_read_only: {
    status: 403,
    text: "key is read-only — only SELECT, SHOW, and EXPLAIN are allowed",
    help: "A read-only key cannot change anything through the API, and the restriction cannot be removed. Use another key for writes.",
  },
  session_required: {
    status: 403,
    text: "this operation requires a signed-in user session",
    help: "API keys cannot manage people, organizations or approvals. Sign in with `POST /v1/account/login`, and send the cookie that it sets.",
  },
  key_required: {
    status: 403,
    text: "this operation requires an API key",
    help: "The result is derived from the calling API key, and a signed-in session has none. Send the request with a key.",
  },
  key_session_required: {
    status: 403,
    code: "session_required",
    text: "key management requires a signed-in user session",
    help: "An API key cannot create, rotate, revoke or approve keys, not even weaker ones. Sign in with `POST /v1/account/login`, and send the cookie that it sets.",
  },
  ip_not_allowed: {
    status: 403,
    text: "the key may not be used from this address[: {address}]",
    help: "The key has an `ip_allowlist` and your address is not in it. A signed-in person adds it with `PATCH /v1/keys/{id}`; behind a proxy, the operator must also list that proxy in `SVC_TRUSTED_PROXIES`.",
  },
  scope_exceeds_creator: {
    status: 403,
    text: "a new key cannot have scopes its creator lacks[: {scopes}]",
    help: "Leave these scopes out, or ask an owner or administrator to create the key.",
  },
  org_wide_key_forbidden: {
    status: 403,
    text: "only owners and administrators may create keys for the whole organization",
    help: "Choose a project for the key and no `organization_reach`, or ask an owner or administrator.",
  },
  organization_reach_required: {
    status: 403,
    text: "this belongs to the whole organization, and your key or membership is limited to a project",
    help: "All projects of the organization share it. Use a key that is bound to no project or was created with `organization_reach`, or sign in as a member who is not limited to projects. `docs/generated/authority.md` lists what belongs to the organization.",
  },
  project_not_in_organization: {
    status: 403,
    text: "the project named in the request is not one this key can use",
    help: "A key works only with projects of its own organization, and one bound to a project only with that project. Check the id in the `X-Svc-Project` header.",
  },
  role_insufficient: {
    status: 403,
    text: "your role does not allow this[: it needs {roles}]",
    help: "Ask an owner or administrator of the organization to do it or to change your role.",
  },
  step_up_required: {
    status: 403,
    text: "confirm your identity again to do this",
    help: "This operation needs a sign-in within the last 15 minutes. Call `POST /v1/account/reauthenticate`, then repeat the request.",
  },
  approval_not_possible: {
    status: 403,
    text: "the operation needs a person's approval, which this protocol cannot report[: {reason}]",
    help: "The key has `require_approval`. Use the corresponding operation of the API, which returns 202 with the approval to wait for: `DELETE /v1/storage/buckets/{name}` in place of S3's, `POST /api/v1/sql` without the `Neon-` headers.",
  },
  approval_rejected: {
    status: 403,
    text: "the request was not approved[: {reason}]",
    help: "A person decided against it, and nothing was done. Talk to them before sending it again.",
  },
  approver_not_allowed: {
    status: 403,
    text: "you cannot decide about this approval",
    help: "Approvals are decided by an owner or administrator, and where the organization says so by someone other than the key's creator.",
    planned: true,
  },
  token_audience_mismatch: {
    status: 403,
    text: "tokens of application users cannot call this API",
    help: "This token belongs to a user of an application and works on the `/v1/auth` routes only. Call this operation from a server with a secret key.",
  },
  csrf_failed: {
    status: 403,
    text: "the request does not come from the pages of this installation",
    help: "Session cookies are accepted only with an `Origin` header that names the address of the installation. Programs should use an API key, or send that header; behind a proxy, check that `SVC_BASE_URL` is the address that people open.",
  },
  email_not_confirmed: {
    status: 403,
    text: "the e-mail address is not confirmed yet",
    help: "Follow the link in the confirmation mail, or ask for a new one with `POST /v1/auth/resend`.",
  },
  user_banned: {
    status: 403,
    text: "this user is blocked",
    help: "The owner of the application blocked the user. Contact the owner.",
  },
  provider_email_unverified: {
    status: 403,
    text: "the provider has not verified the e-mail address of this user",
    help: "A user with this address is there already, and only a verified address shows that it is the same person. Sign in as before and link the identity with `POST /v1/auth/user/identities/{provider}/start`, or have the address verified by the provider.",
  },
  signup_disabled: {
    status: 403,
    text: "sign-up is closed",
    help: "New users are added by invitation only. Ask the owner for one.",
  },
  model_not_in_plan: {
    status: 403,
    text: "this model is not part of your plan[: {model}]",
    help: "`GET /v1/ai/models` lists the models you can call. The default model is part of every plan.",
    planned: true,
  },
  cors_denied: {
    status: 403,
    text: "no CORS rule of the bucket allows this origin, method and headers",
    help: "Pages of other origins may call a bucket as its CORS rules say. Without rules every origin may, with a presigned URL. `PATCH /v1/storage/buckets/{name}` sets them, and so does S3's `PutBucketCors`.",
  },
  bucket_access_denied: {
    status: 403,
    text: "the policy or the access control list of the bucket does not allow this",
    help: "A policy of the bucket denies this to your key, or the bucket belongs to another project and was not opened to you. A signed-in person of the organization can always change the policy of its buckets.",
  },
  signed_url_invalid: {
    status: 403,
    text: "the signed URL does not allow this[: {reason}]",
    help: "A signed URL allows one method on one object until it expires, with the headers that were given when it was created, and only while the key or person that created it has the permission. Create a new one with `POST /v1/storage/presign`.",
  },
  upload_final: {
    status: 403,
    text: "the upload was assembled from others and accepts no bytes",
    help: "An upload created with `Upload-Concat: final` is complete at once. Send bytes to the partial uploads before they are assembled, or start a new upload.",
  },
  terms_not_accepted: {
    status: 403,
    text: "the terms of this module are not accepted yet[: {module}]",
    help: "An owner must accept the agreement of this module before it can be used. `GET /v1/billing/agreements/{tenant_id}` lists the agreements.",
    planned: true,
  },
} as const satisfies Record<string, FaultSpec>
