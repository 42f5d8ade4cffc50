import type { Principal } from "../call.ts"
import type { Exchange, Incoming, Stage } from "../exchange.ts"
import { type Fault, fault, isFault } from "../fault.ts"
import type { Credentials, Signatures } from "../needs.ts"
import type { Limits } from "./limit.ts"

export const SESSION_COOKIES = ["__Host-svc_session", "svc_session"] as const

export const sessionToken = (cookies: string): string | undefined => {
  for (const pair of cookies.split(";")) {
    const at = pair.indexOf("=")
    const name = pair.slice(0, at).trim()
    if (SESSION_COOKIES.some(known => known === name)) return pair.slice(at + 1).trim()
  }
  return undefined
}

const BEARER = /^bearer +(\S+) *$/i

/** Access tokens of applications' users are JWTs, which the platform's own API refuses whatever they say. */
const JWT = /^eyJ[\w-]*\.[\w-]*\.[\w-]*$/

const BASIC = /^basic +([A-Za-z0-9+/=_-]+) *$/i

/** The same caller with the password of Basic authentication (RFC 7617) as its bearer key; the user name means nothing. */
const basicAsBearer = (incoming: Pick<Incoming, "header">): Pick<Incoming, "header"> => {
  const basic = BASIC.exec(incoming.header("authorization") ?? "")?.[1]
  if (basic === undefined) return incoming
  const [, ...password] = Buffer.from(basic, "base64").toString().split(":")
  const bearer = `Bearer ${password.join(":")}`
  return { header: name => (name === "authorization" ? bearer : incoming.header(name)) }
}

const accept = (exchange: Exchange, principal: Principal): undefined => {
  exchange.principal = principal
  exchange.organization = principal.organization
  return undefined
}

/** The principal of a bearer key or a session cookie; undefined without either. Throws the 401 that fits. */
export const principalOf = (
  credentials: Credentials,
  incoming: Pick<Incoming, "header">,
  nowMs: number,
): Principal | Promise<Principal> | undefined => {
  const authorization = incoming.header("authorization")
  if (authorization !== undefined) {
    const secret = BEARER.exec(authorization)?.[1]
    if (secret === undefined) throw fault("invalid_api_key")
    if (JWT.test(secret)) throw fault("token_audience_mismatch")
    return credentials.key(secret, nowMs)
  }
  const token = sessionToken(incoming.header("cookie") ?? "")
  if (token === undefined) return undefined
  return credentials.session(
    token,
    incoming.header("x-svc-organization"),
    incoming.header("x-svc-project") ?? incoming.header("x-project-id"),
    nowMs,
  )
}

/** Browsers send the publishable key as `apikey`, and may send a user's token beside it. */
const publishablePrincipal = (credentials: Credentials, { incoming, nowMs }: Exchange) => {
  const key = incoming.header("apikey")
  return key === undefined ? principalOf(credentials, incoming, nowMs) : credentials.key(key, nowMs)
}

/** A user of an application; an `apikey` beside the token must be of the same project. */
const endUserPrincipal = async (credentials: Credentials, { incoming, nowMs }: Exchange) => {
  const token = BEARER.exec(incoming.header("authorization") ?? "")?.[1]
  if (token === undefined) return undefined
  // An API key is told first whether it is one; then that it is not what the operation takes.
  if (!JWT.test(token)) return await credentials.key(token, nowMs)
  const user = await credentials.endUser(token, nowMs)
  const key = incoming.header("apikey")
  if (key !== undefined && (await credentials.key(key, nowMs)).project?.id !== user.project?.id)
    throw fault("token_invalid")
  return user
}

/** Who calls: a bearer key, a signature in a key's name, or the console's session cookie. A bad credential costs its address a token. */
export const authenticate = (
  credentials: Credentials,
  signatures: Signatures | undefined,
  limits: Limits,
): Stage => {
  const refused = (exchange: Exchange, error: unknown): Fault | unknown =>
    isFault(error) && error.status === 401 ? (limits.failedCredential(exchange) ?? error) : error

  const checkSignature = async (exchange: Exchange, check: Signatures["check"]): Promise<Principal> => {
    const { principal, signed } = await check(exchange.incoming, exchange.operation.method, exchange.nowMs)
    exchange.signed = signed
    return principal
  }

  const checkEndUser = async (exchange: Exchange): Promise<Principal> => {
    const found = await endUserPrincipal(credentials, exchange)
    if (found === undefined) throw fault("missing_credentials")
    return found
  }

  const look = (exchange: Exchange): Principal | Promise<Principal> => {
    if (exchange.operation.envelope === "s3" && signatures?.claims(exchange.incoming))
      return checkSignature(exchange, signatures.check)
    const { scope, envelope } = exchange.operation
    if (scope === "end-user") return checkEndUser(exchange)
    // Docker and its like know no other way to send a key.
    const sender = envelope === "oci" ? basicAsBearer(exchange.incoming) : exchange.incoming
    const found =
      scope === "publishable"
        ? publishablePrincipal(credentials, exchange)
        : principalOf(credentials, sender, exchange.nowMs)
    if (found === undefined) throw fault("missing_credentials")
    return found
  }

  return exchange => {
    if (exchange.incoming.principal) return accept(exchange, exchange.incoming.principal)
    if (exchange.operation.scope === "public") return undefined
    try {
      const found = look(exchange)
      if (!(found instanceof Promise)) return accept(exchange, found)
      return found.then(
        principal => accept(exchange, principal),
        error => {
          throw refused(exchange, error)
        },
      )
    } catch (error) {
      throw refused(exchange, error)
    }
  }
}
