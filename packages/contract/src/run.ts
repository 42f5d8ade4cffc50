import { ProgramLog, programLogQuery } from "./deployments-fields.ts"
import { area, T } from "./dsl.ts"
import {
  RUN_DEPLOY_BYTES_MAX,
  RunInstance,
  RunMetrics,
  RunRequestMetrics,
  RunRevision,
  RunService,
  RunServiceName,
  RunServiceRef,
  runAliases,
  runConfigFields,
  runServiceFields,
} from "./run-fields.ts"
import { Id, Page, PageQuery } from "./types.ts"

const One = T.Object({ id: RunServiceRef })

const DEPLOY_FAULTS = [
  "invalid_parameter",
  "missing_parameter",
  "not_implemented",
  "plan_limit_reached",
] as const

/** Who deploys sees what came of it. */
const READS = ["services:read", "services:deploy"] as const

const SOURCES =
  "The program comes from `image`, from `files` or `files_zip`, or both; it answers HTTP on `port`. Environment variables are encrypted at rest."

export const run = area(
  "run",
  {
    title: "Run services",
    summary: "Programs that answer HTTP, started by the requests that need them",
    project: "required",
    belongs: "project",
  },
  {
    list: {
      id: "listServices",
      http: "GET /v1/run/services",
      summary: "List run services, newest first",
      scope: READS,
      effect: "read",
      query: PageQuery,
      replies: { 200: Page(RunService) },
    },
    create: {
      id: "createService",
      http: "POST /v1/run/services",
      summary: "Deploy a run service",
      description: `${SOURCES} The reply comes at once, with the status \`DEPLOYING\`; requests to the URL wait for the first instance.`,
      scope: "services:deploy",
      effect: "write",
      body: T.Object({ name: RunServiceName, ...runConfigFields, ...runServiceFields }),
      aliases: runAliases,
      bodyBytesMax: RUN_DEPLOY_BYTES_MAX,
      replies: { 201: RunService },
      faults: ["name_taken", ...DEPLOY_FAULTS],
      example: {
        name: "hello",
        files: {
          "server.js":
            'require("http").createServer((_, response) => response.end("Hello\\n")).listen(process.env.PORT)',
        },
        command: "node server.js",
        public: true,
      },
    },
    get: {
      id: "getService",
      http: "GET /v1/run/services/{id}",
      summary: "Read a run service",
      scope: READS,
      effect: "read",
      params: One,
      replies: { 200: RunService },
      faults: ["service_not_found"],
    },
    update: {
      id: "updateService",
      http: "PUT /v1/run/services/{id}",
      summary: "Change a run service",
      description:
        "Fields that are left out do not change. A change of what runs makes a new revision, which takes requests once an " +
        "instance of it is healthy; the revision before answers until then, and goes on if the new one fails. Instance " +
        "counts, access, labels and traffic change without a new revision.",
      scope: "services:deploy",
      effect: "write",
      params: One,
      body: T.Object({ ...runConfigFields, ...runServiceFields }),
      aliases: runAliases,
      bodyBytesMax: RUN_DEPLOY_BYTES_MAX,
      replies: { 200: RunService },
      faults: ["service_not_found", ...DEPLOY_FAULTS],
      example: { max_instances: 5 },
    },
    delete: {
      id: "deleteService",
      http: "DELETE /v1/run/services/{id}",
      summary: "Delete a run service with its revisions",
      description: "Requests under way are answered.",
      scope: "services:deploy",
      effect: "destroy",
      risk: "high",
      params: One,
      replies: { 200: T.Object({ id: Id, deleted: T.Boolean({ description: "Always true" }) }) },
      faults: ["service_not_found"],
    },
    instances: {
      id: "listServiceInstances",
      http: "GET /v1/run/services/{id}/instances",
      summary: "List the instances of a run service, newest first",
      scope: READS,
      effect: "read",
      params: One,
      query: PageQuery,
      replies: { 200: Page(RunInstance) },
      faults: ["service_not_found"],
    },
    logs: {
      extension: true,
      id: "getServiceLogs",
      http: "GET /v1/run/services/{id}/logs",
      summary: "Read what the instances of a run service print",
      description:
        "The newest lines, the oldest of them first; with `after`, the lines since that `cursor`. The newest 10,000 lines are stored, " +
        "for seven days. An instance that prints more than 2,000 lines at once, or 200 a second, loses those beyond.",
      scope: "services:logs",
      effect: "read",
      params: One,
      query: T.Object(programLogQuery),
      replies: { 200: ProgramLog },
      faults: ["service_not_found"],
    },
    metrics: {
      id: "getServiceMetrics",
      http: "GET /v1/run/services/{id}/metrics",
      summary: "Count the instances of a run service and the requests that they serve",
      scope: READS,
      effect: "read",
      params: One,
      replies: { 200: RunMetrics },
      faults: ["service_not_found"],
    },
    revisions: {
      id: "listServiceRevisions",
      http: "GET /v1/run/services/{id}/revisions",
      summary: "List the revisions of a run service, newest first",
      description: "The newest 50 are stored, and those that answer requests.",
      scope: READS,
      effect: "read",
      params: One,
      query: PageQuery,
      replies: { 200: Page(RunRevision) },
      faults: ["service_not_found"],
    },
    rollback: {
      id: "rollbackService",
      http: "POST /v1/run/services/{id}/rollback",
      summary: "Have an earlier revision answer all requests",
      description: "It stays so until the traffic is changed or a new revision is deployed.",
      scope: "services:deploy",
      effect: "write",
      params: One,
      body: T.Object({
        revision: T.Union(
          [T.Integer({ minimum: 1, maximum: 2_147_483_647 }), T.String({ minLength: 1, maxLength: 64 })],
          {
            description: "Number, name or id of a revision that has been ready",
          },
        ),
      }),
      replies: { 200: RunService },
      faults: ["service_not_found", "invalid_parameter"],
      example: { revision: 1 },
    },
    requestMetrics: {
      id: "getServiceRequestMetrics",
      http: "GET /v1/metering/services/run-service/{id}/metrics",
      summary: "Read how many requests a run service answers, and how fast",
      description: "Figures of the last five minutes, measured where requests enter the platform.",
      scope: ["services:read", "services:deploy", "metering:read"],
      effect: "read",
      params: One,
      replies: { 200: RunRequestMetrics },
      faults: ["service_not_found"],
    },
  },
)
