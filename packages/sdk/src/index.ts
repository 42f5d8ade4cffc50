/** The typed client of Svc, for browsers and Node 20 or newer. It depends on nothing but `fetch` and, for terminals, `WebSocket`. */
export { createSvc } from "./client.ts"
export { type Approval, ApprovalPending, type ErrorDetails, type FieldError, SvcError } from "./errors.ts"
export { type ExactNumber, isExactNumber, type NumberMode, parseExact } from "./numbers.ts"
export { DEFAULT_BASE_URL, type SvcOptions } from "./settings.ts"
export type { ServerSentEvent } from "./sse.ts"
export type {
  CallOptions,
  OperationName,
  RateLimit,
  RateLimited,
  RawRequest,
  Reply,
  RequestBody,
  Svc,
} from "./surface.ts"
export type { Terminal, TerminalExit } from "./terminal.ts"
export {
  type VerifyOptions,
  verifyWebhook,
  type WebhookEvent,
  type WebhookHeaders,
  WebhookVerificationError,
} from "./webhooks.ts"
