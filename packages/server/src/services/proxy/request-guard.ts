/**
 * Which requests a proxy passes on: those that every server reads alike. Where two servers could disagree on where a
 * request ends or whom it is for, the second could take a part of it for a request of its own (request smuggling).
 */
import type { IncomingMessage } from "node:http"
import type { Refusal } from "./refusal.ts"

const TARGET_LENGTH_MAX = 8_192
const HOST = /^(?:\[[0-9a-f:.]{2,45}\]|[a-z0-9_.-]{1,253})(?::\d{1,5})?$/i
const PRINTABLE = /^[\x21-\x7e]+$/

const bad = (text: string, status = 400): Refusal => ({ status, text })

const count = (raw: readonly string[], name: string): number => {
  let found = 0
  for (let at = 0; at < raw.length; at += 2) if (raw[at]?.toLowerCase() === name) found++
  return found
}

/** How the length of the body is told must leave no doubt. */
const framingProblem = ({ headers, rawHeaders, httpVersion }: IncomingMessage): string | undefined => {
  const coding = headers["transfer-encoding"]
  const length = headers["content-length"]
  if (coding !== undefined) {
    if (coding.toLowerCase() !== "chunked" || count(rawHeaders, "transfer-encoding") > 1)
      return "The request has a transfer encoding other than chunked."
    if (length !== undefined) return "The request has both a length and a transfer encoding."
    if (httpVersion === "1.0") return "A request of HTTP/1.0 has no transfer encoding."
  }
  if (length !== undefined && (!/^\d{1,15}$/.test(length) || count(rawHeaders, "content-length") > 1))
    return "The length of the request is not one number."
  return undefined
}

/** The path and query; undefined where the target is none that a server of HTTP is asked for. */
const originForm = ({ method, url = "", headers }: IncomingMessage): string | undefined => {
  if (url.startsWith("/")) return url
  if (url === "*" && method === "OPTIONS") return url
  const [, host = "", rest = ""] = /^https?:\/\/([^/?#]+)(.*)$/i.exec(url) ?? []
  if (host === "" || host.toLowerCase() !== headers.host?.toLowerCase()) return undefined
  return rest.startsWith("/") ? rest : `/${rest}`
}

/** The target in origin form, or why the request is not passed on. */
export const guardRequest = (request: IncomingMessage): string | Refusal => {
  const { headers, rawHeaders, method, httpVersionMajor } = request
  if (httpVersionMajor !== 1) return bad("This is not HTTP/1.1.")
  if (method === "TRACE" || method === "CONNECT") return bad("This method is not passed on.", 405)
  if (count(rawHeaders, "host") !== 1 || !HOST.test(headers.host ?? ""))
    return bad("The request does not name one host.")
  const framing = framingProblem(request)
  if (framing !== undefined) return bad(framing)
  if (headers.expect !== undefined && headers.expect.toLowerCase() !== "100-continue")
    return bad("This expectation cannot be met.", 417)
  const target = originForm(request)
  if (target === undefined || !PRINTABLE.test(target)) return bad("The target of the request is not a path.")
  return target.length > TARGET_LENGTH_MAX ? bad("The target of the request is too long.", 414) : target
}

/** Whether bytes follow the headers. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0
