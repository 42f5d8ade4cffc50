import type { FaultSpec } from "./spec.ts"

/** 202 to 426, without the families of their own: the request is valid but conflicts with the present state. */
export const conflictFaults = {
  // Not an error body: the reply is 202 with the approval record. The code is in the table so that it has a page.
  approval_required: {
    status: 202,
    text: "the request waits for a person's approval",
    help: "The key needs approval for risky operations, and nothing was done yet. Follow the `Location` header, or send `Prefer: wait=60`, until the approval is decided; it expires after 24 hours.",
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
  },
  bucket_not_empty: {
    status: 409,
    text: "the bucket still contains objects[: {name}]",
    help: "Delete its objects first. This keeps one mistaken request from deleting everything.",
  },
  branch_in_use: {
    status: 409,
    text: "the branch cannot be deleted[: {reason}]",
    help: "It is the default branch, it is protected, or other branches were created from it. Delete those first, or make another branch the default.",
  },
  computer_not_running: {
    status: 409,
    text: "this computer is not running[: it is {state}]",
    help: "Commands and files need a running machine. Start it with `POST /v1/computers/{id}/start` and try again.",
  },
  invalid_state_transition: {
    status: 409,
    text: "this cannot be done in the present state[: it is {state}]",
    help: "Read the resource to see its state, and the API reference for what that state allows.",
  },
  idempotency_key_in_use: {
    status: 409,
    text: "a request with this Idempotency-Key is still running",
    help: "Wait for the first request to finish; the same request sent again then returns its reply.",
    retryable: true,
  },
  key_already_rotated: {
    status: 409,
    text: "this key was already rotated",
    help: "A replacement exists and this key is in its grace period. Rotate the replacement, or revoke this key.",
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
  blob_in_use: {
    status: 409,
    text: "manifests of the repository refer to this blob",
    help: "Delete these manifests first. Blobs that no manifest refers to any more are removed by themselves, a day later.",
  },
  conflict: {
    status: 409,
    text: "the resource changed at the same moment[: {reason}]",
    help: "Another request changed it first, and this one had no effect. Read the resource again, and send a new change if it still makes sense.",
  },
  precondition_failed: {
    status: 412,
    text: "the object does not meet the conditions of the request",
    help: "`If-Match` names another version than the present one, or the object of `If-None-Match: *` exists. Nothing was written; read the object again and decide.",
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
  upload_range_invalid: {
    status: 416,
    text: "these bytes are not the next ones of the upload[: {reason}]",
    help: "Chunks are sent in order, without gaps. `GET` of the upload says in `Range` which bytes have arrived; go on with the next one.",
  },
  range_not_satisfiable: {
    status: 416,
    text: "the requested range lies outside the object",
    help: "`Content-Range` gives the size of the object. Ask for bytes inside it, or leave the `Range` header out.",
  },
  upgrade_required: {
    status: 426,
    text: "this operation is used by WebSocket",
    help: "The request is valid otherwise. Open it as a WebSocket (RFC 6455, version 13) that offers the subprotocol which the API reference names; a proxy in between must pass `Upgrade` on.",
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
    help: "All its instances are busy and the queue is full. Try again after the `Retry-After` time, give the function more `concurrency`, or invoke it with `mode=async`.",
    retryable: true,
  },
  auth_rate_limited: {
    status: 429,
    text: "too many attempts from this address",
    help: "Sign-up, its confirmation, sign-in and re-authentication each allow three requests a minute from one address. Where sign-ups are confirmed by mail, one e-mail address gets at most three mails an hour requested from one network and ten a day from all, and one network may request a hundred a day. Wait as long as the `Retry-After` header says.",
    retryable: true,
  },
  ai_daily_limit_exceeded: {
    status: 429,
    text: "the AI requests of the plan for today are used up[: {limit} a day]",
    help: "The count starts again at 00:00 UTC. Plans from Starter on have no daily limit.",
  },
  mfa_attempts_exceeded: {
    status: 429,
    text: "too many wrong codes",
    help: "This sign-in is closed. Start again with the password.",
  },
  account_locked: {
    status: 429,
    text: "too many failed attempts for this address",
    help: "After ten failures in a row the network that they came from is blocked for this account, for a minute at first and an hour at most; after a hundred failures from many networks, all networks are blocked from which nobody ever signed in to the account. Wait as long as the `Retry-After` header says, or sign in from a network that you used before. Addresses without an account get the same error.",
  },
  too_many_terminals: {
    status: 429,
    text: "too many terminals are open in this workload[: at most {limit}]",
    help: "Close some of them. A terminal whose client has disappeared ends within about a minute.",
  },
  too_many_pending_approvals: {
    status: 429,
    text: "too many requests of this key are waiting for approval",
    help: "Have them decided, or cancel them. `GET /v1/approvals?status=pending` lists them.",
  },
} as const satisfies Record<string, FaultSpec>
