/** What of a load balancer the data plane works by. */

export interface HealthCheckConfig {
  readonly protocol: "tcp" | "http"
  readonly port: number | null
  readonly path: string
  readonly host: string | null
  readonly status_codes: string[]
  readonly interval_seconds: number
  readonly timeout_seconds: number
  readonly healthy_threshold: number
  readonly unhealthy_threshold: number
}

export interface StickyConfig {
  readonly enabled: boolean
  readonly cookie_name: string
  readonly ttl_seconds: number | null
}

export interface BackendConfig {
  readonly id: string
  readonly address: string
  readonly port: number
  readonly protocol: string
  readonly weight: number
  readonly max_connections: number
  readonly enabled: boolean
}

export interface BalancerConfig {
  readonly id: string
  readonly organization_id: string
  readonly project_id: string
  readonly host_id: string
  readonly algorithm: string
  readonly listen_port: number | null
  readonly hostnames: readonly string[]
  readonly health_check: HealthCheckConfig
  readonly sticky_sessions: StickyConfig
  readonly idle_timeout_seconds: number
  readonly drain_seconds: number
  readonly waf_enabled: boolean
  /** `block` or `detect`. */
  readonly waf_mode: string
  readonly backends: readonly BackendConfig[]
}

export const withDefaults = {
  healthCheck: (given: Partial<HealthCheckConfig> = {}): HealthCheckConfig => ({
    ...{ protocol: "tcp", port: null, path: "/", host: null, status_codes: ["2xx", "3xx"] },
    ...{ interval_seconds: 10, timeout_seconds: 5, healthy_threshold: 2, unhealthy_threshold: 3 },
    ...given,
  }),
  sticky: (given: Partial<StickyConfig> = {}): StickyConfig => ({
    ...{ enabled: false, cookie_name: "svc_lb", ttl_seconds: null },
    ...given,
  }),
}
