/** Who may send requests to a service that is not public. */
import type { IncomingMessage } from "node:http"
import { isIP } from "node:net"
import { acceptedMask, admits, type Scope } from "@svc/contract"
import type { Principal } from "../../kernel/call.ts"
import type { Refusal } from "../../kernel/edges/forwarding.ts"
import { Fault } from "../../kernel/fault.ts"

export interface AccessNeeds {
  /** That a key must have. */
  readonly scope: Scope
  readonly keys: { find(secret: string, nowMs: number): Principal | Promise<Principal> }
  readonly nowMs: () => number
}

/** Whose a program is. */
export interface Owned {
  readonly organization_id: string
  readonly project_id: string
}

export interface Admitted {
  /** The header that has the key, in lower case. */
  readonly withheld: string
}

const BEARER = /^bearer +(\S+) *$/i
const SAFE: ReadonlySet<string | undefined> = new Set(["GET", "HEAD", "OPTIONS"])

const unauthorized: Refusal = {
  status: 401,
  text: "This service answers only with a key of its project: a bearer token in X-Svc-Authorization or Authorization.",
  headers: { "www-authenticate": "Bearer" },
}
const forbidden = (text: string): Refusal => ({ status: 403, text })

const refusalOf = (
  principal: Principal,
  scope: Scope,
  service: Owned,
  request: IncomingMessage,
  address: string,
): Refusal | undefined => {
  const { organization, project, key, allowlist, held, readOnly } = principal
  const isOwn =
    organization?.id === service.organization_id && (project === null || project.id === service.project_id)
  if (!isOwn || key?.type === "publishable") return unauthorized
  if (!admits(held, acceptedMask(scope))) return forbidden(`The key lacks the scope ${scope}.`)
  const family = isIP(address)
  if (allowlist !== null && (family === 0 || !allowlist.check(address, family === 6 ? "ipv6" : "ipv4")))
    return forbidden("The key does not work from this address.")
  if (readOnly && !SAFE.has(request.method)) return forbidden("The key is read-only.")
  return undefined
}

export const createAccess =
  ({ scope, keys, nowMs }: AccessNeeds) =>
  async (service: Owned, request: IncomingMessage, address: string): Promise<Admitted | Refusal> => {
    const withheld =
      request.headers["x-svc-authorization"] === undefined ? "authorization" : "x-svc-authorization"
    const secret = BEARER.exec(String(request.headers[withheld] ?? ""))?.[1]
    if (secret === undefined) return unauthorized
    try {
      return refusalOf(await keys.find(secret, nowMs()), scope, service, request, address) ?? { withheld }
    } catch (error) {
      if (error instanceof Fault) return unauthorized
      throw error
    }
  }
