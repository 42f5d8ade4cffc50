import type { FaultSpec } from "./spec.ts"

/** 202 to 426, without the families of their own: the request is understood but cannot be served like this now. */
export const conflictFaults = {
  // Not an error body: the reply is 202 with the approval record. The code is here because its page explains it.
  approval_required: {
    status: 202,
    text: "the request waits for a person's approval",
    help: "The key needs approval for risky operations, and nothing was done yet. Follow the `Location` header, or send `Prefer: wait=60`, until the approval is decided; it lapses after 24 hours.",
  },
  method_not_allowed: {
    status: 405,
    text: "this path does not accept the method[: use {methods}]",
    help: "The `Allow` header lists the methods this path accepts.",
  },
  not_acceptable: {
    status: 406,
    text: "none of the accepted media types can be produced[: {types} can]",
    help: "Change the `Accept` header, or leave it out to get JSON.",
  },
  request_timeout: {
    status: 408,
    text: "the request did not arrive in time",
    help: "The body took too long to arrive and nothing was done. Send it again, large uploads over a better connection or in parts.",
    retryable: true,
  },
  name_taken: {
    status: 409,
    text: "this name is already in use[: {resource} {name} already exists]",
    help: "Choose another name, or use the resource that has it.",
  },
  domain_taken: {
    status: 409,
    text: "this domain is already registered[: {domain}]",
    help: "The domain is registered in this organization, or another one proved its ownership. Remove it there first, or use the existing entry.",
  },
  member_exists: {
    status: 409,
    text: "this person is already a member",
    help: "Change their role instead of inviting them again.",
  },
  factor_name_taken: {
    status: 409,
    text: "the user already has a second factor of this name",
    help: "Give `friendly_name` another value, or delete the old factor first.",
    planned: true,
  },
  bucket_not_empty: {
    status: 409,
    text: "the bucket still holds objects[: {name}]",
    help: "Delete its objects first. This keeps one mistaken request from deleting everything.",
  },
  branch_in_use: {
    status: 409,
    text: "the branch cannot be deleted[: {reason}]",
    help: "It is the default branch or others were made from it. Delete those first, or make another branch the default.",
  },
  computer_not_running: {
    status: 409,
    text: "this computer is not running[: it is {state}]",
    help: "Commands and files need a running machine. Start it with `POST /v1/computers/{id}/start` and try again.",
  },
  invalid_state_transition: {
    status: 409,
    text: "this cannot be done in the present state[: it is {state}]",
    help: "Read the resource to see its state, and the API reference for the moves that state allows.",
  },
  idempotency_key_in_use: {
    status: 409,
    text: "a request with this Idempotency-Key is still running",
    help: "Wait for the first request to finish; the same request sent again then returns its answer.",
    retryable: true,
  },
  key_already_rotated: {
    status: 409,
    text: "this key was already rotated",
    help: "A replacement exists and this key is in its grace time. Rotate the replacement, or revoke this key.",
  },
  key_already_revoked: {
    status: 409,
    text: "this key was already revoked",
    help: "Revocation is permanent, so there is nothing left to do. Create a new key if you need one.",
  },
  approval_already_decided: {
    status: 409,
    text: "this approval was already decided[: it was {decision}]",
    help: "A decision is final. Send the original request again to ask for a new one.",
  },
  last_owner: {
    status: 409,
    text: "an organization needs at least one owner",
    help: "Make another member an owner first.",
  },
  conflict: {
    status: 409,
    text: "the resource changed at the same moment[: {reason}]",
    help: "Another request won. Read the resource again, and repeat your change if it still makes sense.",
  },
  precondition_failed: {
    status: 412,
    text: "the object is not in the state the request demands",
    help: "`If-Match` names another version than the present one, or `If-None-Match: *` met an existing object. Read the object again and decide anew; nothing was written.",
  },
  payload_too_large: {
    status: 413,
    text: "the request body is too large[: at most {bytes} bytes are allowed]",
    help: "Send less in one request. Large files go into a bucket with a presigned URL.",
  },
  unsupported_media_type: {
    status: 415,
    text: "the content type is not supported here[: send {types}]",
    help: "Most operations take `Content-Type: application/json`; uploads name theirs in the API reference.",
  },
  range_not_satisfiable: {
    status: 416,
    text: "the requested range lies outside the object",
    help: "`Content-Range` gives the size of the object. Ask for bytes inside it, or leave the `Range` header out.",
  },
  upgrade_required: {
    status: 426,
    text: "this operation is used by WebSocket",
    help: "Nothing else stood against the request. Open it as a WebSocket (RFC 6455, version 13) that offers the subprotocol which the API reference names; a proxy in between must pass `Upgrade` on.",
  },
} as const satisfies Record<string, FaultSpec>

/** 429: too much, too fast. `Retry-After` says how long to wait. */
export const limitFaults = {
  rate_limited: {
    status: 429,
    text: "too many requests[: your plan allows {limit} per second]",
    help: "Wait as long as the `Retry-After` header says. The limit is shared by all keys of the organization; `GET /v1/me` shows it live.",
    retryable: true,
  },
  function_throttled: {
    status: 429,
    text: "the function is busy[: {reason}]",
    help: "All its instances work and others wait already. Try again after the `Retry-After` time, give the function more `concurrency`, or invoke it with `mode=async`.",
    retryable: true,
  },
  auth_rate_limited: {
    status: 429,
    text: "too many attempts from this address",
    help: "Sign-up, the confirmation of its address, sign-in and its repetition each allow three requests a minute from one address. Where sign-ups are confirmed by mail, they are also limited by the e-mail address: three an hour from one place and ten a day from all, whether or not it has an account; and to a hundred a day from one place. Wait as long as the `Retry-After` header says.",
    retryable: true,
  },
  ai_daily_limit_exceeded: {
    status: 429,
    text: "the plan's AI requests for today are used up[: {limit} a day]",
    help: "The count starts again at 00:00 UTC. Plans from Starter on have no daily limit.",
    planned: true,
  },
  mfa_attempts_exceeded: {
    status: 429,
    text: "too many wrong codes",
    help: "This sign-in is closed. Start again with the password.",
    planned: true,
  },
  account_locked: {
    status: 429,
    text: "too many failed attempts for this address",
    help: "After ten failures in a row the place that they came from rests, for a minute at first and an hour at most; after a hundred from many places all rest from which the account was never signed in. Wait as long as the `Retry-After` header says, or sign in from where you did before. It is the answer for addresses without an account too.",
  },
  too_many_terminals: {
    status: 429,
    text: "too many terminals are open there[: at most {limit}]",
    help: "Close some of them. One whose client is gone without a word ends within a minute or so.",
  },
  too_many_pending_approvals: {
    status: 429,
    text: "too many requests of this key already wait for approval",
    help: "Have the waiting ones decided or cancel them. `GET /v1/approvals?status=pending` lists them.",
  },
} as const satisfies Record<string, FaultSpec>
