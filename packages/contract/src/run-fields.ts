/** What run services, their revisions, instances and figures look like. */
import { MIB, T } from "./dsl.ts"
import { Dictionary, described, Id, Nullable, OneOf, Time } from "./types.ts"
import { EnvNames, Image, ImageDigest, isolations, Labels } from "./workload-fields.ts"

/** Largest number per project. */
export const RUN_SERVICES_MAX = 200
/** Revisions that are stored of a service, the newest; those with traffic stay. */
export const RUN_REVISIONS_KEPT = 50
export const RUN_PORT_DEFAULT = 8080
export const RUN_CONCURRENCY_DEFAULT = 80
/** Half of the connections that a workload can have. */
export const RUN_CONCURRENCY_MAX = 120
export const RUN_INSTANCES_MAX = 50
export const RUN_INSTANCES_DEFAULT = 10
export const RUN_TIMEOUT_SECONDS_DEFAULT = 300
export const RUN_IDLE_SECONDS_DEFAULT = 60
export const RUN_MEMORY_MB_DEFAULT = 256
export const RUN_VCPUS_DEFAULT = 0.5
/** Base64 adds a third to the size. */
export const RUN_DEPLOY_BYTES_MAX = 48 * MIB
/** UTF-8 bytes of names and values. */
export const RUN_ENV_BYTES_MAX = 65_536
export const RUN_ENV_MAX = 128
/** Where files that come with a service are shown to it. */
export const RUN_FILES_FOLDER = "/srv/app"
export const RUN_METRICS_WINDOW_SECONDS = 300

export const runServiceStatuses = ["DEPLOYING", "READY", "DEGRADED", "FAILED"] as const
export type RunServiceStatus = (typeof runServiceStatuses)[number]
export const runRevisionStatuses = ["DEPLOYING", "READY", "FAILED"] as const
export type RunRevisionStatus = (typeof runRevisionStatuses)[number]
export const runInstanceStatuses = ["STARTING", "RUNNING", "UNHEALTHY", "STOPPING", "STOPPED"] as const
export type RunInstanceStatus = (typeof runInstanceStatuses)[number]

/** Short enough for a host name that begins with it and ends with part of an id. */
export const RunServiceName = T.String({
  pattern: "^[a-z]([a-z0-9-]{0,34}[a-z0-9])?$",
  description:
    "1 to 36 lower-case letters, digits and dashes, the first a letter; unique in the project. It is part of the URL and cannot change",
})
/** As parameter of a path. */
export const RunServiceRef = T.String({ minLength: 1, maxLength: 64, description: "Id or name" })

const FilePath = "^[^/\\\\\\u0000-\\u001f]+(/[^/\\\\\\u0000-\\u001f]+)*$"
export const ProgramEnvName = "^[A-Za-z_][A-Za-z0-9_]{0,127}$"

/** How an instance proves that it is healthy. */
export const healthCheckFields = {
  path: T.Optional(
    T.String({
      pattern: "^/[!-~]{0,1023}$",
      description:
        "Path that a healthy instance answers with a status below 400; left out: the port must accept connections",
    }),
  ),
  interval_seconds: T.Optional(
    T.Integer({ minimum: 1, maximum: 300, default: 10, description: "Time between two checks" }),
  ),
  timeout_seconds: T.Optional(
    T.Integer({ minimum: 1, maximum: 60, default: 5, description: "Time that a check may take" }),
  ),
  grace_period_seconds: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: 600,
      default: 60,
      description: "Time that an instance may take to become healthy after its start",
    }),
  ),
  unhealthy_threshold: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: 20,
      default: 3,
      description: "Failed checks, one after the other, after which an instance is replaced",
    }),
  ),
}

export const RunTraffic = T.Object({
  revision: T.Union(
    [T.Integer({ minimum: 1, maximum: 2_147_483_647 }), T.String({ minLength: 1, maxLength: 64 })],
    {
      description: "Number, name or id of a revision, or `latest`: the newest that is ready",
    },
  ),
  percent: T.Integer({ minimum: 0, maximum: 100, description: "Share of the requests to the service's URL" }),
  tag: T.Optional(
    T.String({
      pattern: "^[a-z]([a-z0-9-]{0,10}[a-z0-9])?$",
      description: "Gives the revision a URL of its own, whatever its share",
    }),
  ),
})

/** What is deployed: a change of any of these makes a new revision. */
export const runConfigFields = {
  image: T.Optional(
    described(
      Image,
      "Image that the service runs, such as `ghcr.io/owner/name:tag`; a template of the installation; or `host-rootfs`, " +
        "the programs of the host, of which `node` is always one. `host-rootfs` when left out",
    ),
  ),
  files: T.Optional(
    Dictionary(T.String({ pattern: FilePath, maxLength: 1024 }), T.String({ maxLength: 4 * MIB }), {
      maxProperties: 5_000,
      description: `Text by path, such as \`{"server.js": "…"}\`; the service sees these files in ${RUN_FILES_FOLDER}, and begins there`,
    }),
  ),
  files_zip: T.Optional(
    T.String({ maxLength: 44 * MIB, description: "A zip archive in base64, in place of `files`" }),
  ),
  command: T.Optional(
    T.Union(
      [
        T.String({ minLength: 1, maxLength: 8_192 }),
        T.Array(T.String({ minLength: 1, maxLength: 8_192 }), { minItems: 1, maxItems: 128 }),
      ],
      {
        description:
          "Program in place of the image's entrypoint: a string runs by `/bin/sh -c`, a list without a shell. It must listen on the port that `PORT` names",
      },
    ),
  ),
  args: T.Optional(
    T.Array(T.String({ maxLength: 8_192 }), {
      maxItems: 128,
      description: "Arguments in place of the image's, behind `command` where that is a list",
    }),
  ),
  env: T.Optional(
    Dictionary(T.String({ pattern: ProgramEnvName }), T.String({ maxLength: 32_768 }), {
      maxProperties: RUN_ENV_MAX,
      description:
        "Environment variables, at most 128 and 64 KiB, encrypted at rest; replies have only their names",
    }),
  ),
  port: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: 65_535,
      description: `Port on which the program listens, which it is told as \`PORT\`; ${RUN_PORT_DEFAULT} when left out`,
    }),
  ),
  vcpus: T.Optional(
    T.Number({
      minimum: 0.05,
      maximum: 8,
      description: `Virtual CPUs of an instance; ${RUN_VCPUS_DEFAULT} when left out`,
    }),
  ),
  memory_mb: T.Optional(
    T.Integer({
      minimum: 64,
      maximum: 16_384,
      description: `Memory of an instance in MiB; ${RUN_MEMORY_MB_DEFAULT} when left out`,
    }),
  ),
  concurrency: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: RUN_CONCURRENCY_MAX,
      description: `Requests that one instance serves at once; ${RUN_CONCURRENCY_DEFAULT} when left out`,
    }),
  ),
  timeout_seconds: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: 3_600,
      description: `How long a request may take, an open WebSocket too; ${RUN_TIMEOUT_SECONDS_DEFAULT} when left out`,
    }),
  ),
  idle_timeout_seconds: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: 86_400,
      description: `How long an instance stays without a request; ${RUN_IDLE_SECONDS_DEFAULT} when left out`,
    }),
  ),
  health_check: T.Optional(
    T.Object(healthCheckFields, {
      additionalProperties: false,
      description: "How an instance proves that it is healthy",
    }),
  ),
}

/** What changes without a new revision. */
export const runServiceFields = {
  min_instances: T.Optional(
    T.Integer({
      minimum: 0,
      maximum: RUN_INSTANCES_MAX,
      description:
        "Instances that run also without requests, while there is room for them; 0, to start with the first request, when left out",
    }),
  ),
  max_instances: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: RUN_INSTANCES_MAX,
      description: `Largest number of instances of a revision on one host; ${RUN_INSTANCES_DEFAULT} when left out`,
    }),
  ),
  public: T.Optional(
    T.Boolean({
      description:
        "Whether anybody may send requests; false when left out: only keys of the project with `services:read`, as a bearer " +
        "token in `X-Svc-Authorization` or `Authorization`. The service does not see that header",
    }),
  ),
  labels: T.Optional(Labels),
  traffic: T.Optional(
    T.Array(RunTraffic, {
      minItems: 1,
      maxItems: 16,
      description:
        "Which revisions answer, with percentages that are 100 in sum. Left out at a new revision: that one, once it is ready",
    }),
  ),
}

/** Names that others use for the same fields. */
export const runAliases = {
  ...{ envs: "env", cpu: "vcpus", cpus: "vcpus", memory: "memory_mb", metadata: "labels" },
  ...{ timeout: "timeout_seconds", cmd: "command" },
} as const

export const shownHealthCheck = {
  path: Nullable(T.String(), {
    description: "Path that is asked; null: the port must accept connections",
  }),
  interval_seconds: T.Integer({ description: "Time between two checks" }),
  timeout_seconds: T.Integer({ description: "Time that a check may take" }),
  grace_period_seconds: T.Integer({ description: "Time that a start may take" }),
  unhealthy_threshold: T.Integer({ description: "Failed checks after which an instance is replaced" }),
}

const config = {
  image: T.String({ description: "Image that it runs, or `host-rootfs`" }),
  image_digest: ImageDigest,
  files_sha256: Nullable(T.String(), { description: "Digest of its files; null without" }),
  files_size_bytes: T.Integer({ description: "Size of its files" }),
  command: Nullable(T.Array(T.String()), {
    description: "Program in place of the image's; null: the image's",
  }),
  args: Nullable(T.Array(T.String()), {
    description: "Arguments in place of the image's; null: the image's",
  }),
  env_names: EnvNames,
  port: T.Integer({ description: "Port on which the program listens" }),
  vcpus: T.Number({ description: "Virtual CPUs of an instance" }),
  memory_mb: T.Integer({ description: "Memory of an instance in MiB" }),
  concurrency: T.Integer({ description: "Requests that one instance serves at once" }),
  timeout_seconds: T.Integer({ description: "How long a request may take" }),
  idle_timeout_seconds: T.Integer({ description: "How long an instance stays without a request" }),
  health_check: T.Object(shownHealthCheck, { description: "How an instance proves that it is healthy" }),
}

const StatusReason = Nullable(T.String(), {
  description: "What went wrong, with the last output of the program; null when nothing did",
})

export const RunService = T.Object({
  id: Id,
  name: T.String({ description: "Unique in the project" }),
  project_id: Id,
  status: OneOf(runServiceStatuses, {
    description:
      "`READY` also while nothing runs because nobody asks; `DEGRADED`: an older revision answers, because the newest could not be started",
  }),
  status_reason: StatusReason,
  url: Nullable(T.String(), {
    description: "Where it answers; null where the installation has no domain for services",
  }),
  public: T.Boolean({ description: "Whether anybody may send requests" }),
  labels: T.Record(T.String(), T.String(), { description: "Labels of your own" }),
  revision: T.Integer({ description: "Number of the newest revision" }),
  ready_revision: Nullable(T.Integer(), {
    description: "Number of the newest that is ready; null while none is",
  }),
  traffic: T.Array(
    T.Object({
      revision: T.Integer({ description: "Number of the revision" }),
      latest: T.Boolean({ description: "Whether the share is that of the newest revision that is ready" }),
      percent: T.Integer({ description: "Share of the requests" }),
      tag: Nullable(T.String(), { description: "Its tag" }),
      url: Nullable(T.String(), { description: "URL of the tag" }),
    }),
    { description: "Which revisions answer" },
  ),
  min_instances: T.Integer({ description: "Instances that run also without requests" }),
  max_instances: T.Integer({ description: "Largest number of instances of a revision on one host" }),
  ...config,
  isolation: OneOf(isolations, { description: "How instances are kept from their host" }),
  created_at: Time,
  updated_at: Time,
})

export const RunRevision = T.Object({
  id: Id,
  name: T.String({ description: "Name of the service with the number, as `api-00003`" }),
  number: T.Integer({ description: "Counts up from 1" }),
  status: OneOf(runRevisionStatuses, {
    description: "`READY` once an instance of it has been healthy; `FAILED` if none could be started",
  }),
  status_reason: StatusReason,
  traffic_percent: T.Integer({ description: "Its share of the requests" }),
  ...config,
  created_at: Time,
})

export const RunInstance = T.Object({
  id: Id,
  revision: T.Integer({ description: "Number of its revision" }),
  revision_id: Id,
  status: OneOf(runInstanceStatuses, { description: "Those that have stopped are shown for an hour" }),
  status_reason: Nullable(T.String(), { description: "Why it ended; null while it runs" }),
  host_id: Id,
  port: T.Integer({ description: "Port on which it listens" }),
  in_flight_requests: T.Integer({ description: "Requests that it serves now" }),
  requests: T.Integer({ description: "Requests that it was given" }),
  cpu_ms: Nullable(T.Integer(), {
    description: "Processor time that it used; null where its host is another",
  }),
  memory_used_bytes: Nullable(T.Integer(), {
    description: "Memory that it uses; null where its host is another",
  }),
  exit_code: Nullable(T.Integer(), {
    description: "Exit code of the program; null while it runs, or when a signal ended it",
  }),
  oom_killed: T.Boolean({ description: "Whether it ended because it needed more than its memory" }),
  started_at: Time,
  stopped_at: Nullable(Time, { description: "When it ended" }),
})

export const RunMetrics = T.Object({
  service_id: Id,
  revision: Nullable(T.Integer(), {
    description: "Number of the newest revision that is ready; null while none is",
  }),
  healthy_instances: T.Integer({ description: "Instances that accept requests" }),
  total_instances: T.Integer({ description: "Instances, those included that start or stop" }),
  in_flight_requests: T.Integer({ description: "Requests that instances serve now" }),
  waiting_requests: T.Integer({
    description: "Requests that wait for an instance of the host that was asked",
  }),
  timestamp: Time,
})

const Milliseconds = (what: string) => Nullable(T.Number(), { description: `${what}; null without requests` })

export const RunRequestMetrics = T.Object({
  available: T.Boolean({ description: "Whether there are figures" }),
  message: Nullable(T.String(), { description: "Why there are none" }),
  window_seconds: T.Integer({ description: "Time that the figures are of, up to now" }),
  requests: T.Integer({ description: "Requests in that time" }),
  requests_per_second: T.Number({ description: "Requests" }),
  errors_per_second: T.Number({ description: "Requests that were answered with a status of 500 or more" }),
  latency_ms: T.Object(
    {
      p50: Milliseconds("Median"),
      p95: Milliseconds("95 of 100 requests were faster"),
      p99: Milliseconds("99 of 100 requests were faster"),
    },
    { description: "Time from the request to the beginning of its answer, a start included" },
  ),
})
