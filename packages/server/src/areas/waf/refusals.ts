/** What a client is told whose request is refused: nothing of the rule. */
import type { Seen } from "../../services/proxy/inspector.ts"
import type { Refusal } from "../../services/proxy/refusal.ts"

const page = (title: string, requestId: string) =>
  `<!doctype html><meta charset="utf-8"><title>${title}</title><h1>${title}</h1><p>Request ${requestId}</p>`

const TEXTS = { 403: "The request was refused", 429: "Too many requests" } as const

export const refusalOf = (
  status: 403 | 429,
  { request, requestId }: Pick<Seen, "request" | "requestId">,
  waitSeconds?: number,
): Refusal => {
  const isPage = request.headers.accept?.includes("text/html") === true
  const title = TEXTS[status]
  const code = status === 403 ? "request_blocked" : "rate_limited"
  return {
    status,
    text: isPage ? page(title, requestId) : JSON.stringify({ error: title, code, request_id: requestId }),
    headers: {
      "content-type": isPage ? "text/html; charset=utf-8" : "application/json",
      "x-request-id": requestId,
      ...(waitSeconds !== undefined && { "retry-after": String(waitSeconds) }),
    },
  }
}
