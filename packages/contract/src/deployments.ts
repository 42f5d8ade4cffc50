import {
  Deployment,
  DeploymentInstance,
  DeploymentRef,
  DeploymentVersion,
  deploymentAliases,
  deploymentConfigFields,
  deploymentFields,
  deploymentScaleFields,
  ProgramLog,
  programLogQuery,
} from "./deployments-fields.ts"
import { area, T } from "./dsl.ts"
import { RunServiceName } from "./run-fields.ts"
import { Id, Page, PageQuery } from "./types.ts"

const One = T.Object({ id: DeploymentRef })

/** Who may change deployments sees what came of it. */
const READS = ["compute:read", "compute:deploy", "compute:scale", "compute:logs"] as const

export const deployments = area(
  "deployments",
  {
    title: "Deployments",
    summary: "Programs that run all the time, in as many instances as you say",
    project: "required",
    belongs: "project",
  },
  {
    list: {
      id: "listDeployments",
      http: "GET /v1/compute/deployments",
      summary: "List deployments, newest first",
      scope: READS,
      effect: "read",
      query: PageQuery,
      replies: { 200: Page(Deployment) },
    },
    create: {
      id: "createDeployment",
      http: "POST /v1/compute/deployments",
      summary: "Deploy a program, or a new version of it",
      description:
        "A name that the project has already gets a new version: fields that are left out stay as they are, and its instances take " +
        "the place of those before one after the other, each once it is ready, so that no request fails. The reply comes at once, " +
        "with the status `DEPLOYING`. A version that cannot be started never takes the place of one that runs.",
      scope: "compute:deploy",
      effect: "write",
      body: T.Object({ name: RunServiceName, ...deploymentConfigFields, ...deploymentFields }),
      aliases: deploymentAliases,
      replies: { 201: Deployment },
      faults: [
        "invalid_parameter",
        "missing_parameter",
        "not_implemented",
        "plan_limit_reached",
        "no_host_capacity",
      ],
      example: {
        name: "web",
        image: "host-rootfs",
        command: [
          "node",
          "-e",
          'require("http").createServer((_, response) => response.end("Hello\\n")).listen(process.env.PORT)',
        ],
        min_instances: 2,
        public: true,
      },
    },
    get: {
      id: "getDeployment",
      http: "GET /v1/compute/deployments/{id}",
      summary: "Read a deployment",
      scope: READS,
      effect: "read",
      params: One,
      replies: { 200: Deployment },
      faults: ["deployment_not_found"],
    },
    delete: {
      id: "deleteDeployment",
      http: "DELETE /v1/compute/deployments/{id}",
      summary: "Delete a deployment with its versions, instances and logs",
      description: "Requests under way have half a minute to be answered.",
      scope: "compute:deploy",
      effect: "destroy",
      risk: "high",
      params: One,
      replies: { 200: T.Object({ id: Id, deleted: T.Boolean({ description: "Always true" }) }) },
      faults: ["deployment_not_found"],
    },
    instances: {
      id: "listDeploymentInstances",
      http: "GET /v1/compute/deployments/{id}/instances",
      summary: "List the instances of a deployment, newest first",
      scope: READS,
      effect: "read",
      params: One,
      query: PageQuery,
      replies: { 200: Page(DeploymentInstance) },
      faults: ["deployment_not_found"],
    },
    logs: {
      id: "getDeploymentLogs",
      http: "GET /v1/compute/deployments/{id}/logs",
      summary: "Read what the instances of a deployment print",
      description:
        "The newest lines, the oldest of them first; with `after`, the lines since that `cursor`. The newest 10,000 lines are stored, " +
        "for seven days. An instance that prints more than 2,000 lines at once, or 200 a second, loses those beyond.",
      scope: "compute:logs",
      effect: "read",
      params: One,
      query: T.Object(programLogQuery),
      replies: { 200: ProgramLog },
      faults: ["deployment_not_found"],
    },
    restart: {
      id: "restartDeployment",
      http: "POST /v1/compute/deployments/{id}/restart",
      summary: "Restart the instances of a deployment, one after the other",
      description:
        "A new instance is ready before the one that it replaces ends, so that no request fails. Those that were given up are tried again.",
      scope: "compute:deploy",
      effect: "write",
      params: One,
      replies: { 200: Deployment },
      faults: ["deployment_not_found"],
    },
    rollback: {
      id: "rollbackDeployment",
      http: "POST /v1/compute/deployments/{id}/rollback",
      summary: "Run an earlier version of a deployment",
      description: "Its instances take the place of those that run one after the other, as at a deployment.",
      scope: "compute:deploy",
      effect: "write",
      params: One,
      body: T.Object({
        version: T.Integer({
          minimum: 1,
          maximum: 2_147_483_647,
          description: "Number of a version that has been ready",
        }),
      }),
      replies: { 200: Deployment },
      faults: ["deployment_not_found", "invalid_parameter"],
      example: { version: 1 },
    },
    scale: {
      id: "scaleDeployment",
      http: "POST /v1/compute/deployments/{id}/scale",
      summary: "Change how many instances of a deployment run",
      description: "Instances that are left over answer their requests first.",
      scope: "compute:scale",
      effect: "write",
      params: One,
      body: T.Object(deploymentScaleFields),
      replies: { 200: Deployment },
      faults: ["deployment_not_found", "invalid_parameter", "plan_limit_reached"],
      example: { min_instances: 3 },
    },
    versions: {
      id: "listDeploymentVersions",
      http: "GET /v1/compute/deployments/{id}/versions",
      summary: "List the versions of a deployment, newest first",
      description: "The newest 50 are stored, and those that run.",
      scope: READS,
      effect: "read",
      params: One,
      query: PageQuery,
      replies: { 200: Page(DeploymentVersion) },
      faults: ["deployment_not_found"],
    },
  },
)
