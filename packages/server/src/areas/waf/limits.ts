/** How many requests an address, and a network, may send to one load balancer. Counted by each process for itself. */
import { isIPv6 } from "node:net"
import { createBoundedCache } from "../../kernel/bounded-cache.ts"

export interface LimitSettings {
  /** Requests a second; undefined where they are not limited. */
  readonly rate: number | undefined
  readonly banSeconds: number
}

export interface Limited {
  readonly kind: "rate_limit" | "ban"
  readonly scope: "address" | "network"
  /** The first time in a while, which is worth an event. */
  readonly isNew: boolean
  readonly waitSeconds: number
}

export interface Limits {
  take(of: { projectId: string; loadBalancerId: string }, address: string, nowMs: number): Limited | undefined
  state(projectId: string, nowMs: number): { readonly tracked: number; readonly banned: number }
}

interface Counted {
  readonly projectId: string
  tokens: number
  filledMs: number
  refused: number
  refusedFromMs: number
}

const ADDRESSES_MAX = 50_000
const NETWORKS_MAX = 10_000
const BANS_MAX = 10_000
/** What may come at once, in seconds of the rate. */
const BURST_SECONDS = 10
const NETWORK_FACTOR = 10
/** As many refused requests as the burst within this time are a ban. */
const STRIKES_MS = 60_000

const hextets = (address: string): string[] => {
  const [head = "", tail = ""] = address.split("::")
  const first = head === "" ? [] : head.split(":")
  const last = tail === "" ? [] : tail.split(":")
  const zeros = Math.max(0, 8 - first.length - last.length)
  return address.includes("::") ? [...first, ...Array<string>(zeros).fill("0"), ...last] : first
}

/** Somebody who has one address of IPv6 has a /64 of them. */
export const namesOf = (address: string): { readonly address: string; readonly network: string } => {
  if (isIPv6(address)) {
    const parts = hextets(address)
    return { address: parts.slice(0, 4).join(":"), network: parts.slice(0, 3).join(":") }
  }
  return { address, network: address.split(".").slice(0, 3).join(".") }
}

export const createLimits = ({ rate, banSeconds }: LimitSettings): Limits => {
  const addresses = createBoundedCache<Counted>(ADDRESSES_MAX)
  const networks = createBoundedCache<Counted>(NETWORKS_MAX)
  const bans = createBoundedCache<{ readonly projectId: string; readonly untilMs: number }>(BANS_MAX)

  const counted = (
    from: typeof addresses,
    key: string,
    projectId: string,
    perSecond: number,
    nowMs: number,
  ) => {
    const burst = perSecond * BURST_SECONDS
    const known = from.get(key)
    if (!known) {
      const fresh: Counted = { projectId, tokens: burst, filledMs: nowMs, refused: 0, refusedFromMs: 0 }
      from.set(key, fresh)
      return fresh
    }
    const seconds = Math.max(0, nowMs - known.filledMs) / 1000
    known.tokens = Math.min(burst, known.tokens + seconds * perSecond)
    known.filledMs = nowMs
    return known
  }

  /** Counts a refusal; how many there were in a while. */
  const strike = (one: Counted, nowMs: number): number => {
    if (nowMs - one.refusedFromMs > STRIKES_MS) {
      one.refused = 0
      one.refusedFromMs = nowMs
    }
    return ++one.refused
  }

  return {
    take({ projectId, loadBalancerId }, address, nowMs) {
      if (rate === undefined) return undefined
      const names = namesOf(address)
      const key = `${loadBalancerId} ${names.address}`
      const ban = bans.get(key)
      if (ban && ban.untilMs > nowMs)
        return {
          ...{ kind: "ban", scope: "address", isNew: false },
          waitSeconds: Math.ceil((ban.untilMs - nowMs) / 1000),
        }
      const own = counted(addresses, key, projectId, rate, nowMs)
      if (own.tokens < 1) {
        const strikes = strike(own, nowMs)
        if (strikes < rate * BURST_SECONDS)
          return { kind: "rate_limit", scope: "address", isNew: strikes === 1, waitSeconds: 1 }
        own.refused = 0
        bans.set(key, { projectId, untilMs: nowMs + banSeconds * 1000 })
        return { kind: "ban", scope: "address", isNew: true, waitSeconds: banSeconds }
      }
      own.tokens--
      const network = `${loadBalancerId} ${names.network}`
      const shared = counted(networks, network, projectId, rate * NETWORK_FACTOR, nowMs)
      if (shared.tokens < 1)
        return {
          ...{ kind: "rate_limit", scope: "network", waitSeconds: 1 },
          isNew: strike(shared, nowMs) === 1,
        }
      shared.tokens--
      return undefined
    },
    state(projectId, nowMs) {
      let tracked = 0
      let banned = 0
      for (const one of addresses.values())
        if (one.projectId === projectId && nowMs - one.filledMs < STRIKES_MS) tracked++
      for (const one of bans.values()) if (one.projectId === projectId && one.untilMs > nowMs) banned++
      return { tracked, banned }
    },
  }
}
