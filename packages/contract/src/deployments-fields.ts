/** What deployments, their versions, instances and logs look like. */
import { T } from "./dsl.ts"
import { workloadLimits } from "./plans.ts"
import { healthCheckFields, ProgramEnvName, runConfigFields, shownHealthCheck } from "./run-fields.ts"
import { Dictionary, described, Id, Nullable, OneOf, Time } from "./types.ts"
import { EnvNames, Image, ImageDigest, isolations, Labels } from "./workload-fields.ts"

/** Largest number per project. */
export const DEPLOYMENTS_MAX = 100
/** Versions that are stored of a deployment, the newest; those that run stay. */
export const DEPLOYMENT_VERSIONS_KEPT = 50
export const DEPLOYMENT_PORTS_MAX = 8
/** When nothing is said of them. */
export const DEPLOYMENT_PORTS_DEFAULT: readonly number[] = [8080]
export const DEPLOYMENT_MEMORY_MB_DEFAULT = 256
export const DEPLOYMENT_VCPUS_DEFAULT = 0.5
/** With the first start that makes five. */
export const DEPLOYMENT_RETRIES_DEFAULT = 4
/** Requests to one instance at once, beyond which another one is started where there may be more. */
export const DEPLOYMENT_CONCURRENCY = 80

export const deploymentStatuses = ["DEPLOYING", "RUNNING", "DEGRADED", "FAILED", "STOPPED"] as const
export type DeploymentStatus = (typeof deploymentStatuses)[number]
export const deploymentVersionStatuses = ["DEPLOYING", "READY", "FAILED"] as const
export type DeploymentVersionStatus = (typeof deploymentVersionStatuses)[number]
export const deploymentInstanceStatuses = [
  ...(["STARTING", "RUNNING", "UNHEALTHY", "RESTARTING", "STOPPING", "STOPPED", "FAILED"] as const),
] as const
export type DeploymentInstanceStatus = (typeof deploymentInstanceStatuses)[number]
export const deploymentKinds = ["container", "vm"] as const
export type DeploymentKind = (typeof deploymentKinds)[number]
export const restartPolicies = ["no", "on-failure", "always"] as const
export type RestartPolicy = (typeof restartPolicies)[number]
export const programLogStreams = ["stdout", "stderr", "platform"] as const
export type ProgramLogStream = (typeof programLogStreams)[number]

/** As parameter of a path. */
export const DeploymentRef = T.String({ minLength: 1, maxLength: 64, description: "Id or name" })

const Port = T.Integer({ minimum: 1, maximum: 65_535 })

const { memory_mb, vcpus, instances } = workloadLimits.compute

/** What is deployed: it makes a new version. */
export const deploymentConfigFields = {
  image: T.Optional(
    described(
      Image,
      "Image that runs, such as `ghcr.io/owner/name:tag`, a template of the installation, or `host-rootfs`, the programs of the " +
        "host, of which `node` is always one. Its digest is pinned with the version. Needed the first time",
    ),
  ),
  kind: T.Optional(
    OneOf(deploymentKinds, {
      description:
        "`vm`: each instance has a kernel of its own, which takes an installation that runs virtual machines; `container` when left out",
    }),
  ),
  command: T.Optional(
    described(
      runConfigFields.command,
      "Program in place of the image's entrypoint: a string runs by `/bin/sh -c`, a list without a shell",
    ),
  ),
  args: runConfigFields.args,
  env: T.Optional(
    Dictionary(T.String({ pattern: ProgramEnvName }), T.String({ maxLength: 32_768 }), {
      maxProperties: 128,
      description:
        "Environment variables, all of them; at most 128 and 64 KiB, encrypted at rest; replies have only their names",
    }),
  ),
  ports: T.Optional(
    T.Array(Port, {
      maxItems: DEPLOYMENT_PORTS_MAX,
      description:
        "Ports on which the program answers HTTP. The first has the URL of the deployment, and the program is told it as `PORT`; " +
        "each other one has a URL of its own. An empty list: it takes no requests. 8080 when left out",
    }),
  ),
  vcpus: T.Optional(
    T.Number({
      minimum: vcpus.min,
      maximum: vcpus.max,
      description: `Virtual CPUs of an instance; ${DEPLOYMENT_VCPUS_DEFAULT} when left out`,
    }),
  ),
  memory_mb: T.Optional(
    T.Integer({
      minimum: memory_mb.min,
      maximum: memory_mb.max,
      description: `Memory of an instance in MiB; ${DEPLOYMENT_MEMORY_MB_DEFAULT} when left out`,
    }),
  ),
  health_check: T.Optional(
    T.Object(
      {
        ...healthCheckFields,
        port: T.Optional(described(Port, "Port that is checked; the first when left out")),
      },
      { additionalProperties: false, description: "How an instance proves that it is healthy" },
    ),
  ),
  restart_policy: T.Optional(
    OneOf(restartPolicies, {
      description:
        "What happens to an instance that has ended: `always` starts it again, `on-failure` unless it ended with code 0, `no` " +
        "never; `always` when left out",
    }),
  ),
  max_retries: T.Optional(
    T.Integer({
      minimum: 0,
      maximum: 100,
      description:
        "Restarts of an instance that does not stay up for ten seconds, one after the other, with growing waits, after which it " +
        `is \`FAILED\`; ${DEPLOYMENT_RETRIES_DEFAULT} when left out. By \`always\` it is tried again every five minutes`,
    }),
  ),
}

export const deploymentScaleFields = {
  min_instances: T.Optional(
    T.Integer({
      minimum: 0,
      maximum: instances.max,
      description: "Instances that run; 0 stops the deployment. 1 when left out at the first time",
    }),
  ),
  max_instances: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: instances.max,
      description:
        `Largest number of instances: more than \`min_instances\` run while these have ${DEPLOYMENT_CONCURRENCY} requests each. ` +
        "As many as `min_instances` when left out",
    }),
  ),
}

/** What changes without a new version. */
export const deploymentFields = {
  ...deploymentScaleFields,
  public: T.Optional(
    T.Boolean({
      description:
        "Whether anybody may send requests; false at first: only keys of the project with `compute:read`, as a bearer token in " +
        "`X-Svc-Authorization` or `Authorization`. The program does not see that header",
    }),
  ),
  labels: T.Optional(Labels),
}

export const deploymentAliases = {
  ...{ envs: "env", cpu: "vcpus", cpus: "vcpus", memory: "memory_mb", metadata: "labels", cmd: "command" },
} as const

const config = {
  kind: OneOf(deploymentKinds, { description: "What an instance is" }),
  image: T.String({ description: "Image that it runs, or `host-rootfs`" }),
  image_digest: ImageDigest,
  command: Nullable(T.Array(T.String()), {
    description: "Program in place of the image's; null: the image's",
  }),
  args: Nullable(T.Array(T.String()), {
    description: "Arguments in place of the image's; null: the image's",
  }),
  env_names: EnvNames,
  ports: T.Array(T.Integer(), { description: "Ports on which it answers" }),
  vcpus: T.Number({ description: "Virtual CPUs of an instance" }),
  memory_mb: T.Integer({ description: "Memory of an instance in MiB" }),
  health_check: T.Object(
    {
      ...shownHealthCheck,
      port: Nullable(T.Integer(), { description: "Port that is checked; null without ports" }),
    },
    { description: "How an instance proves that it is healthy" },
  ),
  restart_policy: OneOf(restartPolicies, { description: "What happens to an instance that has ended" }),
  max_retries: T.Integer({
    description: "Restarts after which an instance that does not stay up is given up",
  }),
}

const StatusReason = Nullable(T.String(), {
  description: "What went wrong, with the last output of the program; null when nothing did",
})

export const Deployment = T.Object({
  id: Id,
  name: T.String({ description: "Unique in the project" }),
  project_id: Id,
  status: OneOf(deploymentStatuses, {
    description:
      "`RUNNING` with all instances ready; `DEGRADED`: some are not, or the newest version could not be started and the one " +
      "before runs; `STOPPED`: scaled to none, or all have ended as they may",
  }),
  status_reason: StatusReason,
  url: Nullable(T.String(), {
    description:
      "Where its first port answers; null without ports, or where the installation has no domain for them",
  }),
  urls: T.Array(
    T.Object({
      port: T.Integer({ description: "Port of the program" }),
      url: T.String({ description: "Where it answers" }),
    }),
    { description: "Where each port answers" },
  ),
  public: T.Boolean({ description: "Whether anybody may send requests" }),
  labels: T.Record(T.String(), T.String(), { description: "Labels of your own" }),
  version: T.Integer({ description: "Number of the version that runs, or is to run" }),
  ready_version: Nullable(T.Integer(), {
    description: "Number of the version that last had all its instances ready; null while none had",
  }),
  min_instances: T.Integer({ description: "Instances that run" }),
  max_instances: T.Integer({ description: "Largest number of instances" }),
  ready_instances: T.Integer({ description: "Instances that accept requests" }),
  ...config,
  isolation: OneOf(isolations, { description: "How instances are kept from their host" }),
  created_at: Time,
  updated_at: Time,
})

export const DeploymentVersion = T.Object({
  id: Id,
  version: T.Integer({ description: "Counts up from 1" }),
  active: T.Boolean({ description: "Whether it runs, or is to run" }),
  status: OneOf(deploymentVersionStatuses, {
    description: "`READY` once all its instances were ready; `FAILED` if they could not be started",
  }),
  status_reason: StatusReason,
  ...config,
  created_at: Time,
})

export const DeploymentInstance = T.Object({
  id: Id,
  version: T.Integer({ description: "Number of its version" }),
  status: OneOf(deploymentInstanceStatuses, {
    description:
      "`RESTARTING`: the program ended and is started again; `FAILED`: it is not. Those that have stopped are shown for an hour",
  }),
  status_reason: Nullable(T.String(), {
    description: "Why the program ended the last time; null while it never did",
  }),
  host_id: Id,
  port: Nullable(T.Integer(), { description: "First port on which it listens; null without ports" }),
  restart_count: T.Integer({ description: "How often it was started again" }),
  in_flight_requests: T.Integer({ description: "Requests that it serves now" }),
  requests: T.Integer({ description: "Requests that it was given since its last start" }),
  cpu_ms: Nullable(T.Integer(), {
    description: "Processor time that it used; null while it does not run, or where its host is another",
  }),
  memory_used_bytes: Nullable(T.Integer(), {
    description: "Memory that it uses; null while it does not run, or where its host is another",
  }),
  exit_code: Nullable(T.Integer(), {
    description: "Exit code of the last end; null without one, or when a signal ended the program",
  }),
  oom_killed: T.Boolean({
    description: "Whether the program ended the last time because it needed more than its memory",
  }),
  started_at: Time,
  stopped_at: Nullable(Time, { description: "When it ended for good" }),
})

export const ProgramLogLine = T.Object({
  timestamp: Time,
  stream: OneOf(programLogStreams, {
    description: "`platform`: lines about the instance, such as why it ended",
  }),
  message: T.String({ description: "Text of the line" }),
  instance_id: Id,
})

/** Which lines of a log. */
export const programLogQuery = {
  limit: T.Optional(
    T.Integer({ minimum: 1, maximum: 1_000, default: 100, description: "Largest number of lines" }),
  ),
  after: T.Optional(T.String({ pattern: "^[0-9]{1,15}$", description: "`cursor` of the page before" })),
  instance_id: T.Optional(described(Id, "Only lines of this instance")),
  stream: T.Optional(OneOf(programLogStreams, { description: "Only lines of this stream" })),
  search: T.Optional(
    T.String({ minLength: 1, maxLength: 200, description: "Only lines that have this text, in any case" }),
  ),
  since: T.Optional(described(Time, "Only lines from then on")),
  until: T.Optional(described(Time, "Only lines before then")),
}

export const ProgramLog = T.Object(
  {
    data: T.Array(ProgramLogLine, { description: "Lines of the page, the oldest first" }),
    cursor: T.String({ description: "Asks for newer lines" }),
  },
  { "x-svc-list": true },
)
