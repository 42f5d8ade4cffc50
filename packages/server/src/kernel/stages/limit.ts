import { isIPv6 } from "node:net"
import { type Buckets, createBuckets, type Rate, type RateLimitResult } from "../buckets.ts"
import type { Exchange, Stage } from "../exchange.ts"
import { type Fault, fault } from "../fault.ts"
import { createSlidingWindows } from "../sliding-windows.ts"

/** Sign-up, login and password reset: 3 in any minute, by route, project and address (specification 8.1). */
const AUTH_TRIES = 3
const AUTH_SPAN_MS = 60_000
const PUBLIC: Rate = { burst: 60, perSecond: 20 }
const FAILED_CREDENTIALS: Rate = { burst: 30, perSecond: 1 }
/** A signed-in person without an organization yet. */
const ACCOUNT: Rate = { burst: 20, perSecond: 20 }

/** One household or server holds a whole IPv6 /64, so that is what counts as one address. */
export const addressBucket = (ip: string): string => {
  if (!isIPv6(ip)) return ip
  const [head = "", tail = ""] = ip.split("::")
  const left = head.split(":").filter(Boolean)
  const right = tail.split(":").filter(Boolean)
  const zeros = ip.includes("::") ? Array<string>(Math.max(0, 8 - left.length - right.length)).fill("0") : []
  return [...left, ...zeros, ...right].slice(0, 4).join(":")
}

/** What of a call counts. */
export type Caller = Pick<Exchange, "headers" | "nowMs" | "principal" | "organization"> & {
  readonly incoming: Pick<Exchange["incoming"], "ip">
}

export interface Limits {
  readonly stage: Stage
  /** Counts one call of this caller and tells the state; the 429 fault once the limit is passed. */
  count(caller: Caller): Fault | undefined
  /** The 429 fault, when this address has failed too often; undefined while it may still try. */
  failedCredential(caller: Pick<Caller, "headers" | "nowMs" | "incoming">): Fault | undefined
  /** The organization's bucket as it stands. */
  peek(organizationId: string, perSecond: number, nowMs: number): RateLimitResult
}

const organizationRate = (perSecond: number): Rate => ({ burst: perSecond, perSecond })

const announce = (headers: Record<string, string>, taken: RateLimitResult) => {
  headers["x-ratelimit-limit"] = String(taken.limit)
  headers["x-ratelimit-remaining"] = String(taken.remaining)
  headers["x-ratelimit-reset"] = String(Math.ceil(taken.fullAtMs / 1000))
}

const tooMany = (code: "rate_limited" | "auth_rate_limited", taken: RateLimitResult): Fault =>
  fault(code, undefined, { headers: { "retry-after": String(Math.max(1, Math.ceil(taken.waitMs / 1000))) } })

const bucketOf = ({ organization, principal, incoming }: Caller): [string, Rate] => {
  if (organization) return [organization.id, organizationRate(organization.requestsPerSecond)]
  if (principal.user) return [principal.user.id, ACCOUNT]
  return [`public:${addressBucket(incoming.ip)}`, PUBLIC]
}

export interface LimitModes {
  readonly rateLimit: "plan" | "off"
  readonly signInRateLimit: "on" | "off"
}

/** Token buckets: an organization's plan, an address on public routes. Every reply tells the state of its bucket. */
export const createLimits = (
  { rateLimit, signInRateLimit }: LimitModes,
  buckets: Buckets = createBuckets(),
): Limits => {
  const windows = createSlidingWindows(AUTH_TRIES, AUTH_SPAN_MS)
  const take = buckets[rateLimit === "plan" ? "take" : "peek"]

  const count = (caller: Caller): Fault | undefined => {
    const [name, rate] = bucketOf(caller)
    const taken = take(name, rate, caller.nowMs)
    announce(caller.headers, taken)
    return taken.allowed ? undefined : tooMany("rate_limited", taken)
  }

  const countAuth = ({ operation, principal, incoming, headers, nowMs }: Exchange): Fault | undefined => {
    const name = `${operation.name}:${principal.project?.id ?? ""}:${addressBucket(incoming.ip)}`
    const taken = windows.take(name, nowMs)
    announce(headers, taken)
    return taken.allowed ? undefined : tooMany("auth_rate_limited", taken)
  }

  return {
    count,

    stage(exchange) {
      // A call from inside was counted when it came in from outside.
      if (exchange.incoming.principal) return undefined
      if (exchange.operation.limit === "handler") {
        exchange.countRequest = organization => {
          const refusal = count({ ...exchange, organization })
          if (refusal) throw refusal
        }
        return undefined
      }
      const isAuth = exchange.operation.limit === "auth" && signInRateLimit === "on"
      const refusal = isAuth ? countAuth(exchange) : count(exchange)
      if (refusal) throw refusal
      return undefined
    },

    failedCredential({ incoming, nowMs, headers }) {
      const taken = take(`failed:${addressBucket(incoming.ip)}`, FAILED_CREDENTIALS, nowMs)
      announce(headers, taken)
      return taken.allowed ? undefined : tooMany("rate_limited", taken)
    },

    peek: (organizationId, perSecond, nowMs) =>
      buckets.peek(organizationId, organizationRate(perSecond), nowMs),
  }
}
