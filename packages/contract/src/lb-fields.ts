/** Fields of load balancers and their backends. */
import { T } from "./dsl.ts"
import { described, Id, Nullable, OneOf, Time } from "./types.ts"

export const LOAD_BALANCERS_MAX = 100
export const LB_BACKENDS_MAX = 50
export const LB_LOGS_MAX = 500

/** A label of a host name, with room for what makes it unique. */
const LbName = T.String({
  pattern: "^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$",
  description: "Lower-case letters, digits and hyphens; it is the beginning of the host name",
})

export const HealthCheck = T.Object({
  protocol: OneOf(["tcp", "http"], {
    description: "`tcp`: a connection is enough; `http`: a GET request must get one of `status_codes`",
  }),
  port: T.Optional(
    T.Integer({ minimum: 1, maximum: 65_535, description: "The port of the backend unless given" }),
  ),
  path: T.Optional(
    T.String({ pattern: "^/[\\x21-\\x7e]{0,1023}$", description: "Path of the GET request; `/` by default" }),
  ),
  host: T.Optional(
    T.String({
      pattern: "^[a-z0-9.-]{1,253}$",
      description: "Host of the GET request; the address of the backend by default",
    }),
  ),
  status_codes: T.Optional(
    T.Array(T.String({ pattern: "^[1-5](?:[0-9][0-9]|xx)$" }), {
      minItems: 1,
      maxItems: 20,
      description: "Statuses of a healthy backend, as `204` or `2xx`; `2xx` and `3xx` by default",
    }),
  ),
  interval_seconds: T.Optional(
    T.Integer({ minimum: 1, maximum: 300, description: "Seconds between two checks; 10 by default" }),
  ),
  timeout_seconds: T.Optional(
    T.Integer({ minimum: 1, maximum: 60, description: "A slower check fails; 5 by default" }),
  ),
  healthy_threshold: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: 10,
      description: "Successes in a row that make it healthy; 2 by default",
    }),
  ),
  unhealthy_threshold: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: 10,
      description: "Failures in a row that make it unhealthy; 3 by default",
    }),
  ),
})

export const StickySessions = T.Object({
  enabled: T.Boolean({ description: "Whether requests with the cookie go to the same backend" }),
  cookie_name: T.Optional(
    T.String({ pattern: "^[A-Za-z0-9_-]{1,64}$", description: "Name of the cookie; `svc_lb` by default" }),
  ),
  ttl_seconds: T.Optional(
    Nullable(T.Integer({ minimum: 1, maximum: 31_536_000 }), {
      description: "Seconds that the cookie lasts; null, the default: until the browser is closed",
    }),
  ),
})

const seconds = (description: string) => T.Integer({ minimum: 1, maximum: 3_600, description })

export const backendInput = {
  address: T.String({
    minLength: 1,
    maxLength: 253,
    description:
      "Host name or address. It must be public, unless the operator opened its range with `SVC_OUTBOUND_ALLOW`",
  }),
  port: T.Integer({ minimum: 1, maximum: 65_535, description: "80, 443, or from 1024 on" }),
  protocol: T.Optional(
    OneOf(["http", "https"], {
      default: "http",
      description: "`https`: over TLS, and the certificate must be valid for the address",
    }),
  ),
  weight: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: 256,
      default: 1,
      description: "Share of the requests, relative to the other backends",
    }),
  ),
  max_connections: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: 1_000,
      default: 256,
      description:
        "Largest number of requests and WebSockets at the same time, for every process of the server",
    }),
  ),
  enabled: T.Optional(
    T.Boolean({
      default: true,
      description: "False drains it: what is under way ends in peace, and nothing new is sent to it",
    }),
  ),
}

const WafMode = {
  description:
    "`block`: the firewall refuses what its rules and limits say; `detect`: it only records; `block` unless given",
}

export const lbInput = {
  name: LbName,
  algorithm: T.Optional(
    OneOf(["round_robin", "least_connections", "ip_hash"], {
      description: "How the backend of a request is chosen, by weight; `round_robin` unless given",
    }),
  ),
  listen_port: T.Optional(
    Nullable(T.Integer({ minimum: 1, maximum: 65_535 }), {
      description: "A port of its own, beside the URL, from the range of `SVC_LB_PORTS`",
    }),
  ),
  hostnames: T.Optional(
    T.Array(T.String({ pattern: "^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$" }), {
      maxItems: 50,
      uniqueItems: true,
      description:
        "Host names that are served on `listen_port`; other names get 421. None: every name is served",
    }),
  ),
  health_check: T.Optional(described(HealthCheck, "How backends are checked")),
  sticky_sessions: T.Optional(
    described(StickySessions, "Whether a client stays with its backend, by a cookie"),
  ),
  idle_timeout_seconds: T.Optional(
    seconds("Seconds for which a request or a WebSocket may be silent; 60 unless given"),
  ),
  drain_seconds: T.Optional(
    seconds("Seconds that requests to a removed backend may take to end; 30 unless given"),
  ),
  waf_enabled: T.Optional(
    T.Boolean({ description: "Whether the firewall judges its requests; false unless given" }),
  ),
  waf_mode: T.Optional(OneOf(["block", "detect"], WafMode)),
}

const Live = {
  status: OneOf(["healthy", "unhealthy", "unknown", "ejected", "disabled"], {
    description:
      "`unknown`: not checked yet, and requests are sent to it; `unhealthy`: its health check fails; `ejected`: requests to it " +
      "failed, and it rests for 5 to 60 seconds; `disabled`: not `enabled`",
  }),
  healthy: T.Boolean({ description: "Whether requests are sent to it" }),
  last_check_at: Nullable(Time, {
    description: "RFC 3339 time in UTC of the last health check; null before the first",
  }),
  last_error: Nullable(T.String(), {
    description: "Why the last health check failed; null when it succeeded",
  }),
  active_connections: T.Integer({ description: "Requests and WebSockets under way" }),
  requests_total: T.Integer({ description: "Requests that were sent to it since this process knows it" }),
  failures_total: T.Integer({ description: "Requests of these that got no answer" }),
}

export const Backend = T.Object({
  id: Id,
  load_balancer_id: Id,
  address: T.String({ description: "Host name or address of the server" }),
  port: T.Integer({ description: "Port of the server" }),
  protocol: OneOf(["http", "https"], { description: "How requests are sent to it" }),
  weight: T.Integer({ description: "Share of the requests, relative to the other backends" }),
  max_connections: T.Integer({ description: "Largest number of requests and WebSockets at the same time" }),
  enabled: T.Boolean({ description: "False: it is drained, and nothing new is sent to it" }),
  ...Live,
  created_at: Time,
  updated_at: Time,
})

const filled = {
  protocol: OneOf(["tcp", "http"], {
    description: "`tcp`: a connection is enough; `http`: a GET request must get one of `status_codes`",
  }),
  port: Nullable(T.Integer(), { description: "null: the port of the backend" }),
  path: T.String({ description: "Path of the GET request" }),
  host: Nullable(T.String(), { description: "null: the address of the backend" }),
  status_codes: T.Array(T.String(), { description: "Statuses of a healthy backend" }),
  interval_seconds: T.Integer({ description: "Seconds between two checks" }),
  timeout_seconds: T.Integer({ description: "Seconds after which a check fails" }),
  healthy_threshold: T.Integer({ description: "Successes in a row that make a backend healthy" }),
  unhealthy_threshold: T.Integer({ description: "Failures in a row that make a backend unhealthy" }),
}

export const lbFields = {
  id: Id,
  project_id: Id,
  name: T.String(),
  url: Nullable(T.String(), {
    description:
      "Where it is reached; null where the operator gave no domain for load balancers (`SVC_LB_DOMAIN`)",
  }),
  status: OneOf(["available", "degraded", "unavailable"], {
    description: "`degraded`: some backends get no requests; `unavailable`: no backend does",
  }),
  status_reason: Nullable(T.String(), { description: "What is wrong; null while it is available" }),
  algorithm: OneOf(["round_robin", "least_connections", "ip_hash"], {
    description: "How the backend of a request is chosen, by weight",
  }),
  listen_port: Nullable(T.Integer(), { description: "Port of its own, beside the URL; null for none" }),
  hostnames: T.Array(T.String(), {
    description: "Host names that are served on `listen_port`; none: every name is",
  }),
  health_check: T.Object(filled, { description: "How backends are checked" }),
  sticky_sessions: T.Object(
    {
      enabled: T.Boolean({ description: "Whether requests with the cookie go to the same backend" }),
      cookie_name: T.String({ description: "Name of the cookie" }),
      ttl_seconds: Nullable(T.Integer(), {
        description: "Seconds that the cookie lasts; null: until the browser is closed",
      }),
    },
    { description: "Whether a client stays with its backend, by a cookie" },
  ),
  idle_timeout_seconds: T.Integer({
    description: "Seconds for which a request or a WebSocket may be silent",
  }),
  drain_seconds: T.Integer({ description: "Seconds that requests to a removed backend may take to end" }),
  waf_enabled: T.Boolean({ description: "Whether the firewall judges its requests" }),
  waf_mode: OneOf(["block", "detect"], WafMode),
  backends: T.Array(Backend, { description: "As the process that answers sees them, oldest first" }),
  created_at: Time,
  updated_at: Time,
}

export const AccessLogEntry = T.Object({
  timestamp: Time,
  request_id: T.String({ description: "The backend got it as `X-Request-Id`" }),
  client_ip: T.String({ description: "Address of the client" }),
  method: T.String({ description: "Method of the request" }),
  host: T.String({ description: "Host that the request was for" }),
  path: T.String({ description: "Without the query" }),
  status: T.Integer({ description: "499: the client hung up" }),
  backend_id: Nullable(T.String(), { description: "Who answered, or failed last; null when none was asked" }),
  attempts: T.Integer({ description: "How many backends were asked" }),
  duration_ms: T.Integer({ description: "Until the headers of the answer" }),
  error: Nullable(T.String(), { description: "Why there was no answer" }),
})
