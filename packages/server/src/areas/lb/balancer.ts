/** One load balancer at work: its backends, whom a request goes to, and how they are. */
import { createHash } from "node:crypto"
import { type Clock, systemClock } from "../../kernel/clock.ts"
import { at, every } from "../../kernel/every.ts"
import type { Picked } from "../../services/proxy/forward.ts"
import type { Refusal } from "../../services/proxy/refusal.ts"
import { type Connect, createUpstream, type Upstream } from "../../services/proxy/upstream.ts"
import { type AccessLog, createAccessLog } from "./access-log.ts"
import { checkBackend } from "./check.ts"
import { byAddress, type Candidate, createTurns, leastConnections } from "./choose.ts"
import type { BackendConfig, BalancerConfig } from "./config.ts"

export interface BackendView {
  readonly status: "healthy" | "unhealthy" | "unknown" | "ejected" | "disabled"
  readonly healthy: boolean
  readonly last_check_at: string | null
  readonly last_error: string | null
  readonly active_connections: number
  readonly requests_total: number
  readonly failures_total: number
}

export interface Client {
  readonly address: string
  readonly cookie: string | undefined
  readonly isSecure: boolean
}

export interface Balancer {
  readonly config: BalancerConfig
  readonly log: AccessLog
  /** What is under way goes on, also to backends that are gone, for as long as they may be drained. */
  configure(config: BalancerConfig): void
  pick(client: Client, tried: ReadonlySet<string>): Picked | Refusal
  /** Counts a request. */
  begin(): void
  mayRetry(): boolean
  view(backendId: string): BackendView | undefined
  close(): void
}

interface Member extends Candidate {
  config: BackendConfig
  readonly upstream: Upstream
  /** The value of the cookie. */
  readonly mark: string
  health: "healthy" | "unhealthy" | "unknown"
  /** Results in a row that differ from its health. */
  streak: number
  checkedAt: number | undefined
  error: string | undefined
}

/** Retries for each request, so that a fault of all backends does not multiply the requests. */
const RETRIES_A_REQUEST = 0.2
const RETRIES_SAVED_MAX = 100

const NONE: Refusal = { status: 503, text: "No backend is available.", headers: { "retry-after": "5" } }
const CROWDED: Refusal = { status: 503, text: "All backends are busy.", headers: { "retry-after": "1" } }

const markOf = (balancerId: string, backendId: string): string =>
  createHash("sha256").update(`${balancerId} ${backendId}`).digest("hex").slice(0, 16)

const cookieValue = (header: string | undefined, name: string): string | undefined =>
  header
    ?.split(";")
    .map(part => part.trim())
    .find(part => part.startsWith(`${name}=`))
    ?.slice(name.length + 1)

const isSame = (a: BackendConfig, b: BackendConfig): boolean =>
  a.address === b.address && a.port === b.port && a.protocol === b.protocol

const record = (
  member: Member,
  problem: string | undefined,
  check: BalancerConfig["health_check"],
  nowMs: number,
) => {
  const result = problem === undefined ? "healthy" : "unhealthy"
  member.checkedAt = nowMs
  member.error = problem
  member.streak = result === member.health ? 0 : member.streak + 1
  const needed = result === "healthy" ? check.healthy_threshold : check.unhealthy_threshold
  // One success is enough for who was never checked: it had requests already.
  if (member.streak < needed && !(member.health === "unknown" && result === "healthy")) return
  member.health = result
  member.streak = 0
  // Whoever is well again by its check need not wait until its rest is over.
  if (result === "healthy") member.upstream.circuit.succeeded()
}

export const createBalancer = (
  first: BalancerConfig,
  { connect, clock = systemClock }: { readonly connect: Connect; readonly clock?: Clock },
): Balancer => {
  let config = first
  let members = new Map<string, Member>()
  const turns = createTurns()
  const log = createAccessLog()
  let retriesLeft = RETRIES_SAVED_MAX
  let checks: (Disposable & AsyncDisposable) | undefined
  let checkedEveryMs = 0

  const newMember = (backend: BackendConfig): Member => {
    const { address: host, port, protocol } = backend
    const upstream = createUpstream(
      { host, port, protocol: protocol === "https" ? "https" : "http" },
      connect,
    )
    const member: Member = {
      config: backend,
      upstream,
      mark: markOf(config.id, backend.id),
      id: backend.id,
      get weight() {
        return member.config.weight
      },
      get active() {
        return upstream.active
      },
      ...{ health: "unknown", streak: 0, checkedAt: undefined, error: undefined },
    }
    return member
  }

  const retire = (member: Member) => {
    turns.forget(member.config.id)
    if (member.upstream.active === 0) return member.upstream.close()
    at(clock, clock.now() + config.drain_seconds * 1000, () => member.upstream.close())
  }

  const checkAll = async () => {
    const { health_check } = config
    await Promise.all(
      [...members.values()]
        .filter(member => member.config.enabled)
        .map(async member => {
          const problem = await checkBackend(member.config, health_check, connect)
          record(member, problem, health_check, clock.now())
        }),
    )
  }

  const scheduleChecks = () => {
    const everyMs = members.size === 0 ? 0 : config.health_check.interval_seconds * 1000
    if (everyMs === checkedEveryMs) return
    checks?.[Symbol.dispose]()
    checkedEveryMs = everyMs
    checks = everyMs === 0 ? undefined : (every(clock, everyMs, checkAll) as Disposable & AsyncDisposable)
  }

  const configure = (next: BalancerConfig) => {
    config = next
    const before = members
    members = new Map(
      next.backends.map(backend => {
        const known = before.get(backend.id)
        if (!known || !isSame(known.config, backend)) return [backend.id, newMember(backend)]
        known.config = backend
        return [backend.id, known]
      }),
    )
    for (const [id, member] of before) if (members.get(id) !== member) retire(member)
    scheduleChecks()
  }
  configure(first)

  const choose = (candidates: readonly Member[], client: Client): Member | undefined => {
    if (config.algorithm === "ip_hash") return byAddress(candidates, client.address)
    return config.algorithm === "least_connections"
      ? leastConnections(candidates, turns)
      : turns.next(candidates)
  }

  const cookieFor = (member: Member, { isSecure }: Client): string => {
    const { cookie_name, ttl_seconds } = config.sticky_sessions
    const age = ttl_seconds === null ? "" : `; Max-Age=${ttl_seconds}`
    return `${cookie_name}=${member.mark}; Path=/; HttpOnly; SameSite=Lax${age}${isSecure ? "; Secure" : ""}`
  }

  return {
    get config() {
      return config
    },
    log,
    configure,
    pick(client, tried) {
      const nowMs = clock.now()
      const usable = [...members.values()].filter(
        ({ config: { enabled, id }, health }) => enabled && health !== "unhealthy" && !tried.has(id),
      )
      const rested = usable.filter(({ upstream }) => upstream.circuit.admits(nowMs))
      // Where all of them just failed, one of them may still do better than a refusal.
      const free = (rested.length > 0 ? rested : usable).filter(
        ({ config, upstream }) => upstream.active < config.max_connections,
      )
      if (free.length === 0) return usable.length > 0 ? CROWDED : NONE
      const { enabled, cookie_name } = config.sticky_sessions
      const mark = enabled ? cookieValue(client.cookie, cookie_name) : undefined
      const known = mark === undefined ? undefined : free.find(member => member.mark === mark)
      const chosen = known ?? choose(free, client)
      if (!chosen) return NONE
      const { upstream, config: backend } = chosen
      return enabled && !known
        ? { id: backend.id, upstream, headers: ["Set-Cookie", cookieFor(chosen, client)] }
        : { id: backend.id, upstream }
    },
    begin() {
      retriesLeft = Math.min(RETRIES_SAVED_MAX, retriesLeft + RETRIES_A_REQUEST)
    },
    mayRetry() {
      if (retriesLeft < 1) return false
      retriesLeft--
      return true
    },
    view(backendId) {
      const member = members.get(backendId)
      if (!member) return undefined
      const { upstream, health, checkedAt, error, config: backend } = member
      const isEjected = !upstream.circuit.admits(clock.now())
      const judged = isEjected && health !== "unhealthy" ? "ejected" : health
      const status = backend.enabled ? judged : "disabled"
      return {
        status,
        healthy: status === "healthy" || status === "unknown",
        last_check_at: checkedAt === undefined ? null : new Date(checkedAt).toISOString(),
        last_error: error ?? null,
        active_connections: upstream.active,
        requests_total: upstream.requests,
        failures_total: upstream.failures,
      }
    },
    close() {
      checks?.[Symbol.dispose]()
      for (const member of members.values()) retire(member)
      members = new Map()
    },
  }
}
