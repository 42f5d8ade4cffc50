import type { FaultSpec } from "./spec.ts"

/** 400 of any operation, and of keys, sign-in and billing. */
export const badRequestFaults = {
  invalid_request: {
    status: 400,
    text: "the request is not valid[: {reason}]",
    help: "The server could not make sense of the request. Compare it with the operation in the API reference and send it again corrected.",
  },
  validation_failed: {
    status: 400,
    text: "a field of the request is not valid[: {reason}]",
    help: "One or more fields do not match what the operation accepts; unknown body fields are refused too. Each entry of `errors` names the `location` of a field and says what is wrong with it: correct those and send the request again.",
  },
  invalid_json: {
    status: 400,
    text: "the request body is not valid JSON[: {reason}]",
    help: "The body could not be parsed. Look for a trailing comma, a single quote or a cut-off body, and send `Content-Type: application/json` with exactly one JSON value.",
  },
  json_too_deep: {
    status: 400,
    text: "the JSON body is nested too deeply[: at most {limit} levels are allowed]",
    help: "Objects and arrays inside one another have a limit, so that one request cannot exhaust the server. Flatten the value, or send the deep part as a string.",
  },
  body_required: {
    status: 400,
    text: "this operation requires a request body",
    help: "The request arrived without a body. Send a JSON object, even an empty one (`{}`) when every field is optional.",
    planned: true,
  },
  header_duplicated: {
    status: 400,
    text: "a header was sent more than once[: {header}]",
    help: "This header has one value, and two of them could be read differently by two programs. Send it once, and check whether a proxy adds its own.",
  },
  uri_invalid: {
    status: 400,
    text: "the request path or query is not a valid URI",
    help: "The address has a broken percent-escape or a character that is not allowed. Percent-encode each path segment and query value as UTF-8.",
  },
  missing_parameter: {
    status: 400,
    text: "a required parameter is missing[: {field}]",
    help: "The operation needs this parameter. Add it to the path, the query or the body as the API reference says.",
  },
  invalid_parameter: {
    status: 400,
    text: "a parameter is not valid[: {reason}]",
    help: "The parameter has a value outside what the operation accepts. The API reference gives its type, range and allowed values.",
  },
  invalid_name: {
    status: 400,
    text: "the name is not valid[: {reason}]",
    help: "Names of this resource follow a fixed form, given in the API reference; a computer's name, for example, is a lower-case DNS label of at most 63 characters. Choose a name of that form.",
  },
  invalid_resource_shape: {
    status: 400,
    text: "the requested resources are not valid[: {reason}]",
    help: "Memory, vCPUs, disk or instances are outside the range this workload allows. Choose values inside the range; ranges can be raised by the operator.",
  },
  signature_malformed: {
    status: 400,
    text: "the signature of the request cannot be understood[: {reason}]",
    help: "Requests are signed with AWS Signature Version 4 for the service `s3`, in the Authorization header or in the query; presigned URLs of version 2 are understood too. An S3 client or an AWS SDK does this.",
  },
  path_required: {
    status: 400,
    text: "the query parameter path is required",
    help: "Name the file to read with `?path=`, as an absolute path inside the machine.",
  },
  project_required: {
    status: 400,
    text: "this operation requires a project-scoped API key",
    help: "The key belongs to the whole organization and the request names no project. Send the project's id in the `X-Svc-Project` header, or use a key bound to a project.",
  },
  storage_project_required: {
    status: 400,
    code: "project_required",
    text: "storage API requires a project-scoped API key",
    help: "Buckets belong to a project. Send the project's id in the `X-Svc-Project` header, or use a key bound to a project.",
  },
  idempotency_key_invalid: {
    status: 400,
    text: "the Idempotency-Key header must have 1 to 255 characters",
    help: "Use a new UUID for each new request, and the same one when you repeat it.",
  },
  idempotency_key_mismatch: {
    status: 400,
    text: "this Idempotency-Key was already used with a different request",
    help: "A key identifies one request for 24 hours, and its first use had another path or body. Send a new key with a new request, or repeat the first request to get the first reply again.",
  },
  invalid_scope: {
    status: 400,
    text: "the list of scopes is not valid[: {scopes}]",
    help: "A scope is unknown, or the scopes of this type of key are fixed. `GET /v1/scopes` lists all of them.",
  },
  invalid_cidr: {
    status: 400,
    text: "an address range is not valid CIDR notation[: {value}]",
    help: "Write IPv4 or IPv6 ranges such as `203.0.113.0/24` or `2001:db8::/32`, without leading zeros; a single address is also accepted.",
  },
  invalid_expiry: {
    status: 400,
    text: "the expiry is not allowed[: {reason}]",
    help: "Give one of `expires_in_days`, `expires_at` or `never_expires`, between one hour and ten years ahead. Your organization may set a shorter maximum.",
  },
  key_policy_violated: {
    status: 400,
    text: "the organization's key policy does not allow this[: {reason}]",
    help: "`key_policy` of the organization says how long keys may live (`max_lifetime_days`) and within which addresses they work (`allowed_addresses`). Ask for less, restrict the key with `PATCH /v1/keys/{id}`, or let an owner change the policy with `PUT /v1/organizations/{org_id}/key-policy`.",
  },
  plan_not_purchasable: {
    status: 400,
    text: "this plan cannot be bought[: {plan}]",
    help: "The free plan needs no checkout and some plans are set by the operator. `GET /v1/billing/plans` lists the plans and says which can be bought.",
  },
  invalid_amount: {
    status: 400,
    text: "the amount is not allowed[: {reason}]",
    help: "Amounts are positive whole numbers of micro-units: 1000000 is one dollar. Choose an amount inside the allowed range.",
  },
  invalid_consent: {
    status: 400,
    text: "the consent choices are not valid[: {reason}]",
    help: "Send true or false for the known purposes only: `marketing`, `analytics` and `ai_training`.",
    planned: true,
  },
  invalid_correction: {
    status: 400,
    text: "the correction is not valid[: {reason}]",
    help: "Each correction names one field that can be corrected and its new value. Remove unknown fields and empty values.",
    planned: true,
  },
  weak_password: {
    status: 400,
    text: "the password is too weak[: {reason}]",
    help: "It is too short or too long, one of the most common, or the e-mail address. A sentence of 15 or more characters is a good choice; digits and special characters are not required.",
  },
  email_invalid: {
    status: 400,
    text: "the e-mail address is not valid",
    help: "Give one address of the form `name@example.com`, without a display name.",
    planned: true,
  },
  mfa_code_invalid: {
    status: 400,
    text: "the one-time code is wrong or was already used",
    help: "Each code works once. Wait for the next one in the authenticator, and check that the clocks of both devices are right.",
    planned: true,
  },
  mfa_factor_unverified: {
    status: 400,
    text: "this second factor is not verified yet",
    help: "Complete its enrollment with `POST /v1/auth/mfa/verify` and a code from the authenticator before using it to sign in.",
    planned: true,
  },
  redirect_not_allowed: {
    status: 400,
    text: "this project does not allow links of mails to that page",
    help: "Add the page to `redirect_urls` of the project's settings with `PUT /v1/auth/settings`, exactly as it is sent, or the beginning of its path with `/*` at the end.",
  },
  token_invalid_or_expired: {
    status: 400,
    text: "the link or token is not valid or has expired",
    help: "Links sent by e-mail work once and for a limited time. Ask for a new one.",
  },
} as const satisfies Record<string, FaultSpec>
