import type { FaultSpec } from "./spec.ts"

/** 500 to 504: the request was valid and the server could not complete it. */
export const serverSideFaults = {
  internal_error: {
    status: 500,
    text: "an internal error occurred",
    help: "The server failed in an unexpected way and logged the error with this `request_id`; report it to the operator. Whether a change took effect is not known: read the resource before you send the request again.",
  },
  not_implemented: {
    status: 501,
    text: "this is not available on this installation[: {reason}]",
    help: "The engine behind this area does not support it. `GET /api/v1/services` says what is available and what would enable the rest.",
  },
  vpc_unavailable: {
    status: 501,
    text: "private networks are not available on this installation[: {reason}]",
    help: "They need WireGuard on the host, or a network driver that brings it. The operator can enable one; `svc doctor` says what is missing.",
  },
  snapshots_unavailable: {
    status: 501,
    text: "snapshots are not available for ephemeral sandboxes",
    help: "An ephemeral sandbox leaves nothing behind. Copy files out of it, or use a computer, whose disk is persistent.",
  },
  isolation_tier_unavailable: {
    status: 501,
    text: "this isolation tier is not available on this installation[: {isolation}]",
    help: "Choose another tier, or have the operator configure an engine that provides this one.",
  },
  billing_not_configured: {
    status: 501,
    text: "billing is not configured on this installation",
    help: "The operator's list of prices (`SVC_BILLING_PRICES`) has no price for anything, so there are no costs to tell.",
  },
  ssh_keys_not_delivered: {
    status: 502,
    text: "the ssh keys could not be installed on the running computer",
    help: "The computer did not respond, so its old keys are still valid. Send the same list again, or restart the computer.",
    retryable: true,
  },
  path_outside_guest_roots: {
    status: 502,
    text: "the path is outside the folders this sandbox may write[: {path}]",
    help: "Files may be written below `/workspace`, the user's home and `/tmp`. Links that lead elsewhere are not followed.",
  },
  provider_unavailable: {
    status: 502,
    text: "the provider of this sign-in does not answer as it should[: {reason}]",
    help: "Its description could not be read at `{issuer}/.well-known/openid-configuration`. Check `issuer` of the provider's settings, and that this installation may reach it.",
  },
  upstream_error: {
    status: 502,
    text: "an engine behind this service returned an invalid response[: {reason}]",
    help: "The service this installation relies on failed. Try again shortly; if it persists, tell the operator the `request_id`.",
    retryable: true,
  },
  function_failed: {
    status: 502,
    text: "the function failed[: {type}]",
    help: "It threw an error, exited, or returned no valid response. `GET /v1/functions/{id}/invocations` and `/logs` say what happened.",
  },
  all_providers_exhausted: {
    status: 503,
    text: "no AI provider could serve the request[: {reason}]",
    help: "Every provider configured for this model failed or is temporarily excluded after failures, or none is configured. Try again after the `Retry-After` time, choose another model, or have the operator set `SVC_AI_URL` or `SVC_AI_UPSTREAMS`.",
    retryable: true,
  },
  no_host_capacity: {
    status: 503,
    text: "no host has enough free capacity for this workload",
    help: "Ask for less memory or fewer vCPUs, stop what you no longer need, or try again later. The operator can add a host.",
    retryable: true,
  },
  image_unavailable: {
    status: 503,
    text: "the machine cannot start because its image is unavailable[: {reason}]",
    help: "`status_reason` of its record has the same text. Start it again once the registry has the image for this architecture, or create a machine from another image.",
  },
  host_unavailable: {
    status: 503,
    text: "the host of this machine does not respond",
    help: "The machine's disk is on that host, so it cannot start elsewhere. Try again when the host is back.",
    retryable: true,
  },
  email_domain_not_enabled: {
    status: 503,
    text: "delivery from your own domain is not enabled[: {domain}]",
    help: "A verified domain is not enough: delivery must be enabled in the e-mail settings, and the installation needs a mail relay (`SVC_SMTP_URL`) or direct delivery (`SVC_MAIL_DIRECT`). Leave `from` out to send from the address of the installation.",
  },
  vector_store_unavailable: {
    status: 503,
    text: "the vector store does not respond",
    help: "Nothing was written. Try again shortly; `GET /api/v1/services` shows its state.",
    retryable: true,
  },
  service_unavailable: {
    status: 503,
    text: "this area is not available at the moment[: {reason}]",
    help: "The engine behind it is starting or overloaded. `GET /api/v1/services` gives the state and the reason; other areas keep working.",
    retryable: true,
  },
  function_timed_out: {
    status: 504,
    text: "the function ran out of time",
    help: "It did not reply within its `timeout_seconds`. Make it faster, or deploy it with more time, memory or vCPUs.",
  },
  upstream_timeout: {
    status: 504,
    text: "an engine behind this service did not respond in time",
    help: "Whether the request took effect is not known. Repeat a change only with the same `Idempotency-Key`.",
    retryable: true,
  },
} as const satisfies Record<string, FaultSpec>
