import { isIPv6 } from "node:net"
import { type Buckets, createBuckets, type Rate, type Taken } from "../buckets.ts"
import type { Exchange, Stage } from "../exchange.ts"
import { type Fault, fault } from "../fault.ts"

/** Sign-up, login and password reset: 3 a minute and address (specification 8.1). */
const AUTH: Rate = { burst: 3, perSecond: 3 / 60 }
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

export interface Limits {
  readonly stage: Stage
  /** The 429 fault, when this address has failed too often; undefined while it may still try. */
  failedCredential(exchange: Exchange): Fault | undefined
  /** The organization's bucket as it stands. */
  peek(organizationId: string, perSecond: number, nowMs: number): Taken
}

const organizationRate = (perSecond: number): Rate => ({ burst: perSecond, perSecond })

const announce = (headers: Record<string, string>, taken: Taken) => {
  headers["x-ratelimit-limit"] = String(taken.limit)
  headers["x-ratelimit-remaining"] = String(taken.remaining)
  headers["x-ratelimit-reset"] = String(Math.ceil(taken.fullAtMs / 1000))
}

const tooMany = (code: "rate_limited" | "auth_rate_limited", taken: Taken): Fault =>
  fault(code, undefined, { headers: { "retry-after": String(Math.max(1, Math.ceil(taken.waitMs / 1000))) } })

const bucketOf = ({ operation, organization, principal, incoming }: Exchange): [string, Rate] => {
  if (operation.limit === "auth") return [`auth:${operation.name}:${addressBucket(incoming.ip)}`, AUTH]
  if (organization) return [organization.id, organizationRate(organization.requestsPerSecond)]
  if (principal.user) return [principal.user.id, ACCOUNT]
  return [`public:${addressBucket(incoming.ip)}`, PUBLIC]
}

/** Token buckets: an organization's plan, an address on public routes. Every reply tells the state of its bucket. */
export const createLimits = (mode: "plan" | "off", buckets: Buckets = createBuckets()): Limits => {
  const count = (exchange: Exchange) => {
    const [name, rate] = bucketOf(exchange)
    const taken = buckets[mode === "plan" ? "take" : "peek"](name, rate, exchange.nowMs)
    announce(exchange.headers, taken)
    if (!taken.allowed)
      throw tooMany(exchange.operation.limit === "auth" ? "auth_rate_limited" : "rate_limited", taken)
  }

  return {
    stage(exchange) {
      // A call from inside was counted when it came in from outside.
      if (exchange.incoming.principal) return undefined
      if (exchange.operation.limit === "handler")
        exchange.countRequest = organization => count({ ...exchange, organization })
      else count(exchange)
      return undefined
    },

    failedCredential({ incoming, nowMs, headers }) {
      if (mode === "off") return undefined
      const taken = buckets.take(`failed:${addressBucket(incoming.ip)}`, FAILED_CREDENTIALS, nowMs)
      announce(headers, taken)
      return taken.allowed ? undefined : tooMany("rate_limited", taken)
    },

    peek: (organizationId, perSecond, nowMs) =>
      buckets.peek(organizationId, organizationRate(perSecond), nowMs),
  }
}
