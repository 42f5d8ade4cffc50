import type { BackendView } from "./balancer.ts"
import type { LbUrls } from "./settings.ts"
import type { BackendRow, BalancerRow } from "./store.ts"

/** What the process that answers knows beside the rows. */
export interface Live {
  readonly urls: LbUrls | undefined
  view(balancerId: string, backendId: string): BackendView | undefined
  portProblem(port: number): string | undefined
}

const fresh = (enabled: boolean): BackendView => ({
  status: enabled ? "unknown" : "disabled",
  healthy: enabled,
  ...{ last_check_at: null, last_error: null, active_connections: 0, requests_total: 0, failures_total: 0 },
})

export const toBackend = (row: BackendRow, live: Live) => {
  const { project_id: _, created_at, updated_at, protocol, ...fields } = row
  const view = live.view(row.load_balancer_id, row.id) ?? fresh(row.enabled)
  // What the data plane has not heard of yet is shown as it is stored.
  const isHeard = (view.status === "disabled") !== row.enabled
  return {
    ...fields,
    protocol: protocol === "https" ? ("https" as const) : ("http" as const),
    ...view,
    ...(!isHeard && { status: fresh(row.enabled).status, healthy: row.enabled }),
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  }
}

type BackendPayload = ReturnType<typeof toBackend>

const statusOf = (backends: readonly BackendPayload[], portProblem: string | undefined) => {
  if (portProblem !== undefined)
    return { status: "degraded" as const, status_reason: `listen_port: ${portProblem}` }
  const well = backends.filter(({ healthy }) => healthy).length
  if (well === 0) {
    const reason = backends.length === 0 ? "it has no backend" : "no backend is healthy"
    return { status: "unavailable" as const, status_reason: reason }
  }
  const ill = backends.filter(({ healthy, enabled }) => enabled && !healthy).length
  return ill === 0
    ? { status: "available" as const, status_reason: null }
    : { status: "degraded" as const, status_reason: `${ill} of ${backends.length} backends are not healthy` }
}

const algorithmOf = (word: string): "round_robin" | "least_connections" | "ip_hash" =>
  word === "ip_hash" || word === "least_connections" ? word : "round_robin"

export const toBalancer = (row: BalancerRow, rows: readonly BackendRow[], live: Live) => {
  const { health_check, sticky_sessions, listen_port } = row
  const backends = rows.map(backend => toBackend(backend, live))
  return {
    id: row.id,
    project_id: row.project_id,
    name: row.name,
    url: live.urls?.of(row.name, row.host_id) ?? null,
    ...statusOf(backends, listen_port === null ? undefined : live.portProblem(listen_port)),
    algorithm: algorithmOf(row.algorithm),
    listen_port,
    hostnames: row.hostnames,
    health_check,
    sticky_sessions,
    idle_timeout_seconds: row.idle_timeout_seconds,
    drain_seconds: row.drain_seconds,
    waf_enabled: row.waf_enabled,
    waf_mode: row.waf_mode === "detect" ? ("detect" as const) : ("block" as const),
    backends,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  }
}
