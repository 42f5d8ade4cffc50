/** Refusals in OAuth's form: its name in `error`, our text in `error_description` (RFC 6749, 5.2). */
import { type FaultCode, faults } from "@svc/contract"
import type { RenderError } from "../../kernel/edges/reply.ts"

const statusOf = (code: string): number =>
  Object.hasOwn(faults, code) ? faults[code as FaultCode].status : 500

/** What a refusal that is not OAuth's own is called there. */
const nameOf = (code: string): string => {
  if (code.startsWith("oauth_")) return code.slice("oauth_".length)
  const status = statusOf(code)
  if (status === 401) return "invalid_client"
  if (status === 402 || status === 403) return "access_denied"
  if (status === 429 || status === 503) return "temporarily_unavailable"
  return status >= 500 ? "server_error" : "invalid_request"
}

const isForPerson = ({ method, headers }: Parameters<RenderError>[1]): boolean =>
  method === "GET" && headers.accept?.includes("text/html") === true

/** `page`: how a person reads it, whose browser was sent here by a client. */
export const createOAuthErrors =
  (page: RenderError): RenderError =>
  (refusal, request) => {
    if (isForPerson(request)) return page(refusal, request)
    const { error, ...rest } = refusal
    return {
      type: "application/json; charset=utf-8",
      headers: {},
      text: JSON.stringify({ error: nameOf(rest.code), error_description: error, ...rest }),
    }
  }
