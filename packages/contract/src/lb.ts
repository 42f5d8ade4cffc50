import { area, T } from "./dsl.ts"
import {
  AccessLogEntry,
  Backend,
  backendInput,
  LB_BACKENDS_MAX,
  LB_LOGS_MAX,
  lbFields,
  lbInput,
} from "./lb-fields.ts"
import { Id, Page, PageQuery } from "./types.ts"

const LoadBalancer = T.Object(lbFields)
const Named = T.Object({ id: Id })
const OfBackend = T.Object({ id: Id, backend_id: Id })
const Deleted = T.Object({ id: Id, deleted: T.Boolean({ description: "Always true" }) })

export const lb = area(
  "lb",
  {
    title: "Load balancers",
    summary: "Public addresses whose HTTP requests and WebSockets are spread over several servers",
    project: "required",
    belongs: "project",
  },
  {
    list: {
      id: "listLoadBalancers",
      http: "GET /v1/lb",
      summary: "List load balancers with their backends",
      scope: "lb:read",
      effect: "read",
      query: PageQuery,
      replies: { 200: Page(LoadBalancer) },
    },
    create: {
      id: "createLoadBalancer",
      http: "POST /v1/lb",
      summary: "Create a load balancer",
      description:
        "Requests to its URL go to the backends that are healthy. A request that fails before anything of an answer was sent is " +
        "sent to another backend if it may be repeated: when nothing was sent yet, or its method is idempotent and its body small.",
      scope: "lb:write",
      effect: "write",
      body: T.Object({
        ...lbInput,
        backends: T.Optional(
          T.Array(T.Object(backendInput), { maxItems: LB_BACKENDS_MAX, description: "Its first backends" }),
        ),
      }),
      replies: { 200: LoadBalancer },
      faults: ["invalid_backend", "invalid_parameter"],
      example: {
        name: "shop",
        algorithm: "least_connections",
        health_check: { protocol: "http", path: "/health" },
        backends: [{ address: "a.example.com", port: 80 }],
      },
    },
    get: {
      id: "getLoadBalancer",
      http: "GET /v1/lb/{id}",
      summary: "Show a load balancer with its backends and their health",
      scope: "lb:read",
      effect: "read",
      params: Named,
      replies: { 200: LoadBalancer },
      faults: ["load_balancer_not_found"],
    },
    update: {
      extension: true,
      id: "updateLoadBalancer",
      http: "PATCH /v1/lb/{id}",
      summary: "Change a load balancer",
      description:
        "Fields that are left out stay as they are. No request that is under way is lost. A new name changes the URL; the old one still leads here.",
      scope: "lb:write",
      effect: "write",
      params: Named,
      body: T.Partial(T.Object(lbInput)),
      replies: { 200: LoadBalancer },
      faults: ["load_balancer_not_found", "invalid_parameter"],
      example: { algorithm: "ip_hash", idle_timeout_seconds: 120 },
    },
    delete: {
      id: "deleteLoadBalancer",
      http: "DELETE /v1/lb/{id}",
      summary: "Delete a load balancer and its backends",
      scope: "lb:write",
      effect: "destroy",
      params: Named,
      replies: { 200: Deleted },
      faults: ["load_balancer_not_found"],
    },
    addBackend: {
      id: "addLoadBalancerBackend",
      http: "POST /v1/lb/{id}/backends",
      summary: "Add a backend to a load balancer",
      scope: "lb:write",
      effect: "write",
      params: Named,
      body: T.Object(backendInput),
      replies: { 200: Backend },
      faults: ["load_balancer_unknown", "invalid_backend", "invalid_parameter"],
      example: { address: "b.example.com", port: 8080, weight: 2 },
    },
    updateBackend: {
      extension: true,
      id: "updateLoadBalancerBackend",
      http: "PATCH /v1/lb/{id}/backends/{backend_id}",
      summary: "Change the weight or limit of a backend, or drain it",
      description: "Fields that are left out stay as they are.",
      scope: "lb:write",
      effect: "write",
      params: OfBackend,
      body: T.Object({
        weight: T.Optional(T.Integer({ minimum: 1, maximum: 256, description: "Share of the requests" })),
        max_connections: T.Optional(
          T.Integer({
            minimum: 1,
            maximum: 1_000,
            description: "Largest number of requests at the same time",
          }),
        ),
        enabled: T.Optional(T.Boolean({ description: "False drains it" })),
      }),
      replies: { 200: Backend },
      faults: ["load_balancer_not_found", "backend_not_found"],
      example: { enabled: false },
    },
    removeBackend: {
      id: "removeLoadBalancerBackend",
      http: "DELETE /v1/lb/{id}/backends/{backend_id}",
      summary: "Remove a backend; requests that are under way may end",
      scope: "lb:write",
      effect: "destroy",
      params: OfBackend,
      replies: { 200: Deleted },
      faults: ["load_balancer_not_found", "backend_not_found"],
    },
    logs: {
      extension: true,
      id: "listLoadBalancerLogs",
      http: "GET /v1/lb/{id}/logs",
      summary: "List the latest requests to a load balancer",
      description:
        `The last ${LB_LOGS_MAX} requests that the answering process passed on, newest first. They are kept in memory and are gone ` +
        "when the server restarts. `next_cursor` as `after` lists what came since.",
      scope: "lb:read",
      effect: "read",
      params: Named,
      query: T.Object({
        after: T.Optional(T.Integer({ minimum: 0, description: "`next_cursor` of an earlier reply" })),
        limit: T.Optional(
          T.Integer({
            minimum: 1,
            maximum: LB_LOGS_MAX,
            default: 100,
            description: "Largest number of entries in the reply",
          }),
        ),
      }),
      replies: {
        200: T.Object({
          logs: T.Array(AccessLogEntry, { description: "Requests, newest first" }),
          next_cursor: T.Integer({ description: "For `after`, to follow the log" }),
        }),
      },
      faults: ["load_balancer_not_found"],
    },
  },
)
