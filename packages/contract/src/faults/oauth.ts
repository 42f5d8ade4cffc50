import type { FaultSpec } from "./spec.ts"

/**
 * Errors of the OAuth endpoints. Their replies carry the registered OAuth name in `error`, which is the code
 * without `oauth_`, and our text in `error_description`; `code`, `docs_url` and `request_id` stay as everywhere.
 */
export const oauthFaults = {
  oauth_invalid_request: {
    status: 400,
    text: "the OAuth request is not valid[: {reason}]",
    help: "A parameter is missing, repeated or malformed. Authorization requests need `response_type=code` and a PKCE challenge with the method S256.",
  },
  oauth_invalid_grant: {
    status: 400,
    text: "the code or refresh token is not valid, has expired or was already used",
    help: "Codes are valid for 60 seconds and work once, and each refresh replaces the refresh token. Start a new authorization.",
  },
  oauth_invalid_scope: {
    status: 400,
    text: "the requested scopes are not valid[: {scopes}]",
    help: "A scope is unknown or was not part of the original grant. `GET /.well-known/oauth-authorization-server` lists those supported.",
  },
  oauth_invalid_target: {
    status: 400,
    text: "the resource is not an address of this installation",
    help: "A token is for this installation's API alone. Leave `resource` out, or send the address that `GET /.well-known/oauth-protected-resource` gives.",
  },
  oauth_unauthorized_client: {
    status: 400,
    text: "this client may not use this kind of grant",
    help: "Register the client again with the grant types it needs.",
  },
  oauth_unsupported_grant_type: {
    status: 400,
    text: "this grant type is not supported[: {grant_type}]",
    help: "Use `authorization_code`, `refresh_token` or the device code grant.",
  },
  oauth_invalid_redirect_uri: {
    status: 400,
    text: "the redirect URI is not valid, or not one the client registered[: {reason}]",
    help: "It must equal a registered URI character by character, but for the port of loopback addresses. Register it, or send the registered one.",
  },
  oauth_invalid_client_metadata: {
    status: 400,
    text: "the metadata of the client is not valid[: {reason}]",
    help: "A field of the registration or of the metadata document is not one that this server can use. Correct it and register again.",
  },
  oauth_authorization_pending: {
    status: 400,
    text: "the person has not decided yet",
    help: "Keep polling at the interval that the device authorization returned.",
    retryable: true,
  },
  oauth_slow_down: {
    status: 400,
    text: "the client polls too often",
    help: "Add five seconds to the polling interval and continue.",
    retryable: true,
  },
  oauth_access_denied: {
    status: 400,
    text: "the user denied the request",
    help: "The person on the consent screen refused, so no token was issued. Ask again only when they want it.",
  },
  oauth_expired_token: {
    status: 400,
    text: "the device code has expired",
    help: "Start a new device authorization and show the person its new code.",
  },
} as const satisfies Record<string, FaultSpec>
