import { area, type Static, T } from "./dsl.ts"
import { Stream } from "./events-fields.ts"
import { AnyCase, Id, Name, Nullable, OneOf, pageQuery, Time } from "./types.ts"
import {
  AbsoluteGuestPath,
  COMMAND_DESCRIPTION,
  commandAliases,
  commandFields,
  commandResult,
  DiskGb,
  Env,
  EnvNames,
  GuestUser,
  Image,
  ImageDigest,
  Isolation,
  Labels,
  MemoryMb,
  NewFiles,
  sandboxShape,
  shapeAliases,
  terminalSpec,
  Vcpus,
  WORKLOAD_FILES_BODY_BYTES_MAX,
  WorkloadMetrics,
} from "./workload-fields.ts"

/** Of one organization, running or persistent. */
export const SANDBOXES_MAX = 1_000
export const SANDBOX_IDLE_SECONDS_DEFAULT = 120
/** Of what is sent as raw bytes. */
export const SANDBOX_FILE_BYTES_MAX = 1024 ** 3
export const SANDBOX_PORTS_MAX = 16
/** An ephemeral one that has ended is shown for a day. */
export const SANDBOX_KEPT_HOURS = 24

export const sandboxKinds = ["ephemeral", "persistent"] as const
export type SandboxKind = (typeof sandboxKinds)[number]
export const sandboxStatuses = ["PROVISIONING", "RUNNING", "STOPPING", "STOPPED", "FAILED"] as const
export type SandboxStatus = (typeof sandboxStatuses)[number]
export const sandboxStopReasons = [
  "idle_timeout",
  "deadline",
  "oom",
  "error",
  "stopped",
  "host_lost",
] as const
export type SandboxStopReason = (typeof sandboxStopReasons)[number]

const One = T.Object({ id: Id })
const NOT_USABLE = [
  "sandbox_not_found",
  "sandbox_not_running",
  "host_unavailable",
  "service_unavailable",
] as const

const Network = T.Object(
  {
    mode: OneOf(["allow_all", "deny_all", "custom"]),
    allow: T.Optional(T.Array(T.String({ minLength: 1, maxLength: 253 }), { maxItems: 256 })),
    deny: T.Optional(T.Array(T.String({ minLength: 1, maxLength: 253 }), { maxItems: 256 })),
  },
  {
    additionalProperties: false,
    description:
      "`allow_all`: all public addresses. `custom`: of them the domains and CIDRs in `allow`, but for the CIDRs in `deny`. " +
      "Private addresses, the host and other tenants are never reached, and refused in `allow`. Left out: the most that the installation allows",
  },
)

const sandboxFields = {
  id: Id,
  kind: OneOf(sandboxKinds),
  name: Nullable(T.String()),
  status: OneOf(sandboxStatuses),
  stop_reason: Nullable(OneOf(sandboxStopReasons)),
  status_reason: Nullable(T.String()),
  project_id: Nullable(Id),
  host_id: Id,
  template: T.String(),
  image_digest: ImageDigest,
  ...sandboxShape,
  timeout_seconds: Nullable(T.Integer({ description: "Null: no hard deadline" })),
  idle_timeout_seconds: T.Integer({ description: "0: never" }),
  env_names: EnvNames,
  labels: Labels,
  cwd: T.String(),
  user: GuestUser,
  network: T.Object({
    mode: OneOf(["allow_all", "deny_all", "custom"]),
    allow: T.Array(T.String()),
    deny: T.Array(T.String()),
  }),
  ports: T.Array(T.Integer()),
  urls: T.Array(T.Object({ port: T.Integer(), url: T.String() }), {
    description: "Of its ports, for as long as it runs; who has a URL may use it, and nobody guesses one",
  }),
  isolation: OneOf(["process", "container", "gvisor", "microvm-emulated", "microvm"]),
  cold_start: Nullable(T.Boolean({ description: "False where one that was started before was at hand" })),
  provision_ms: Nullable(T.Integer({ description: "From the request to running" })),
  expires_at: Nullable(Time),
  last_activity_at: Nullable(Time),
  created_at: Time,
  updated_at: Time,
  started_at: Nullable(Time),
  stopped_at: Nullable(Time),
}
const Sandbox = T.Object(sandboxFields)
const ExtendedSandbox = T.Object({
  ...sandboxFields,
  granted_seconds: Nullable(
    T.Integer({
      minimum: 0,
      description:
        "By how much `expires_at` moved, which may be less than was asked for; null without a deadline",
    }),
  ),
})
export type SandboxPayload = Static<typeof Sandbox>

export const sandboxes = area(
  "sandboxes",
  {
    title: "Sandboxes",
    summary: "Isolated Linux environments that start in milliseconds and end by themselves",
    project: "optional",
    belongs: "project",
    envelope: "bare",
  },
  {
    list: {
      id: "sandboxList",
      http: "GET /v1/sandboxes",
      summary: "List sandboxes, newest first",
      description: "Ephemeral ones that have ended are listed for a day.",
      scope: "sandboxes:read",
      effect: "read",
      query: T.Object({
        ...pageQuery,
        status: T.Optional(AnyCase(sandboxStatuses)),
        kind: T.Optional(OneOf(sandboxKinds)),
      }),
      replies: { 200: T.Object({ sandboxes: T.Array(Sandbox), total: T.Integer() }) },
    },
    create: {
      id: "sandboxCreate",
      http: "POST /v1/sandboxes",
      summary: "Create a sandbox",
      description:
        "One that was started before is `RUNNING` at once; otherwise it is `PROVISIONING`, and calls that use it wait " +
        "until it runs. Nothing of an `ephemeral` one is left when it ends; the disk of a `persistent` one stays until it " +
        "is deleted. `timeout_seconds` is a hard deadline, `idle_timeout_seconds` counts from the last call that used it. " +
        "`isolation` names the weakest that will do: weaker is refused. A `template` that must be pulled is, while it is " +
        "`PROVISIONING`; one that cannot be makes it `FAILED`, and `status_reason` tells why. Its environment and working " +
        "directory are those of commands that name none; what it would run itself is not run.",
      scope: "sandboxes:write",
      effect: "write",
      body: T.Object({
        kind: T.Optional(OneOf(sandboxKinds)),
        template: T.Optional(Image),
        name: T.Optional(Name),
        vcpus: T.Optional(Vcpus),
        memory_mb: T.Optional(MemoryMb),
        disk_gb: T.Optional(DiskGb),
        timeout_seconds: T.Optional(
          T.Integer({
            minimum: 0,
            maximum: 10 * 365 * 86_400,
            description: "300 when left out; 0, which is the default of persistent ones, is none",
          }),
        ),
        idle_timeout_seconds: T.Optional(
          T.Integer({
            minimum: 0,
            maximum: 10 * 365 * 86_400,
            description: "120 when left out; 0, which is the default of persistent ones, is never",
          }),
        ),
        env: T.Optional(Env),
        labels: T.Optional(Labels),
        cwd: T.Optional(AbsoluteGuestPath),
        user: T.Optional(GuestUser),
        network: T.Optional(Network),
        ports: T.Optional(
          T.Array(T.Integer({ minimum: 1, maximum: 65_535 }), {
            maxItems: SANDBOX_PORTS_MAX,
            description:
              "Ports that get URLs, by which anybody who has them reaches the servers there by HTTP and WebSocket",
          }),
        ),
        isolation: T.Optional(Isolation),
      }),
      aliases: { ...shapeAliases, image: "template", template_id: "template" },
      replies: { 201: Sandbox },
      faults: [
        "invalid_parameter",
        "invalid_resource_shape",
        "plan_limit_reached",
        "not_implemented",
        "isolation_tier_unavailable",
        "no_host_capacity",
        "service_unavailable",
      ],
      example: { template: "host", vcpus: 1, memory_mb: 512, timeout_seconds: 300 },
    },
    get: {
      id: "sandboxGet",
      http: "GET /v1/sandboxes/{id}",
      summary: "Read a sandbox",
      scope: "sandboxes:read",
      effect: "read",
      params: One,
      replies: { 200: Sandbox },
      faults: ["sandbox_not_found"],
    },
    delete: {
      id: "sandboxDelete",
      http: "DELETE /v1/sandboxes/{id}",
      summary: "End a sandbox and remove all of it",
      scope: "sandboxes:write",
      effect: "destroy",
      params: One,
      replies: { 204: null },
      faults: ["sandbox_not_found"],
    },
    runCommand: {
      id: "sandboxRunCommand",
      http: "POST /v1/sandboxes/{id}/commands",
      summary: "Run a command and wait for its end",
      description: COMMAND_DESCRIPTION,
      scope: "sandboxes:write",
      effect: "write",
      idempotent: "once",
      audit: "rollup",
      params: One,
      body: T.Object(commandFields),
      aliases: commandAliases,
      bodyBytesMax: 4 * 1024 * 1024,
      replies: { 200: T.Object({ id: Id, ...commandResult }) },
      faults: [...NOT_USABLE, "invalid_parameter"],
      example: { command: "echo hello" },
    },
    streamCommand: {
      beyond: true,
      id: "sandboxStreamCommand",
      http: "POST /v1/sandboxes/{id}/commands/stream",
      summary: "Run a command and follow its output",
      description:
        "Server-sent events: `stdout` and `stderr` with `{data}` (base64), as they come and all of it; last `exit` with " +
        "what the waiting form answers, without the outputs. Hanging up kills the command.",
      scope: "sandboxes:write",
      effect: "write",
      idempotent: "once",
      audit: "rollup",
      content: { reply: "sse" },
      params: One,
      body: T.Object(commandFields),
      aliases: commandAliases,
      bodyBytesMax: 4 * 1024 * 1024,
      replies: { 200: Stream },
      faults: [...NOT_USABLE, "invalid_parameter"],
      example: { command: "for i in 1 2 3; do echo $i; sleep 1; done" },
    },
    terminal: {
      ...terminalSpec,
      id: "sandboxTerminal",
      http: "GET /v1/sandboxes/{id}/terminal",
      scope: "sandboxes:write",
      params: One,
      faults: [...NOT_USABLE, "invalid_parameter", "too_many_terminals"],
    },
    metrics: {
      beyond: true,
      id: "sandboxMetrics",
      http: "GET /v1/sandboxes/{id}/metrics",
      summary: "Tell what a running sandbox uses",
      scope: "sandboxes:read",
      effect: "read",
      params: One,
      replies: { 200: WorkloadMetrics },
      faults: NOT_USABLE,
    },
    extend: {
      id: "sandboxExtend",
      http: "POST /v1/sandboxes/{id}/extend",
      summary: "Move the hard deadline of a running sandbox",
      description:
        "`duration_seconds` is added to `expires_at`, which is never further ahead than the longest timeout of its kind: " +
        "`granted_seconds` says how much was added, 0 when it was as far ahead before. One without a deadline stays " +
        "without.",
      scope: "sandboxes:write",
      effect: "write",
      params: One,
      body: T.Object({ duration_seconds: T.Integer({ minimum: 1, maximum: 10 * 365 * 86_400 }) }),
      aliases: { duration: "duration_seconds" },
      replies: { 200: ExtendedSandbox },
      faults: ["sandbox_not_found", "sandbox_not_running"],
      example: { duration_seconds: 60 },
    },
    start: {
      beyond: true,
      id: "sandboxStart",
      http: "POST /v1/sandboxes/{id}/start",
      summary: "Start a persistent sandbox again, with the disk that it had",
      scope: "sandboxes:write",
      effect: "write",
      transaction: "none",
      idempotent: "naturally",
      params: One,
      replies: { 200: Sandbox },
      faults: [
        "sandbox_not_found",
        "invalid_state_transition",
        "no_host_capacity",
        "image_unavailable",
        "host_unavailable",
        "service_unavailable",
      ],
    },
    stop: {
      beyond: true,
      id: "sandboxStop",
      http: "POST /v1/sandboxes/{id}/stop",
      summary: "Stop a sandbox",
      description: "The disk of a persistent one stays; an ephemeral one has ended for good.",
      scope: "sandboxes:write",
      effect: "write",
      transaction: "none",
      idempotent: "naturally",
      params: One,
      replies: { 200: Sandbox },
      faults: ["sandbox_not_found", "host_unavailable"],
    },
    writeFiles: {
      id: "sandboxWriteFiles",
      http: "POST /v1/sandboxes/{id}/files",
      summary: "Write files",
      description:
        "Below `/workspace`, `/home/user` and `/tmp`, one after the other; each is whole or as before. Relative paths " +
        "begin at `cwd`, or where the sandbox's commands do.",
      scope: "sandboxes:write",
      effect: "write",
      idempotent: "naturally",
      audit: "rollup",
      params: One,
      body: T.Object({ files: NewFiles, cwd: T.Optional(AbsoluteGuestPath) }),
      bodyBytesMax: WORKLOAD_FILES_BODY_BYTES_MAX,
      replies: { 204: null },
      faults: [...NOT_USABLE, "too_many_files", "invalid_parameter", "path_outside_guest_roots"],
      example: { files: [{ path: "/workspace/hello.txt", content: "hello" }] },
    },
    putFile: {
      beyond: true,
      id: "sandboxPutFile",
      http: "PUT /v1/sandboxes/{id}/files/{path}",
      summary: "Write a file from the bytes of the request",
      description:
        "`path` is absolute, with or without its first slash, or begins where the sandbox's commands do. At most 1 GiB; " +
        "nothing is written of a body that breaks off.",
      scope: "sandboxes:write",
      effect: "write",
      idempotent: "naturally",
      audit: "rollup",
      rest: true,
      content: { request: "bytes" },
      params: T.Object({ id: Id, path: T.String({ minLength: 1, maxLength: 4096 }) }),
      replies: { 204: null },
      faults: [...NOT_USABLE, "invalid_parameter", "path_outside_guest_roots"],
    },
    readFile: {
      id: "sandboxReadFile",
      http: "GET /v1/sandboxes/{id}/files/{path}",
      summary: "Read a file as it is",
      description:
        "`path` is absolute, with or without its first slash (`workspace/a.txt`, `%2Fworkspace%2Fa.txt`), or begins where " +
        "the sandbox's commands do, as when it was written (`a.txt`). 404 for what is not there, is no file, or lies " +
        "outside `/workspace`, `/home/user` and `/tmp`.",
      scope: "sandboxes:read",
      effect: "read",
      rest: true,
      content: { reply: "bytes" },
      params: T.Object({ id: Id, path: T.String({ minLength: 1, maxLength: 4096 }) }),
      replies: { 200: T.Unknown() },
      faults: [...NOT_USABLE, "file_not_found"],
    },
    snapshot: {
      id: "sandboxSnapshot",
      http: "POST /v1/sandboxes/{id}/snapshot",
      summary: "Snapshots are not available: always 501",
      scope: "sandboxes:write",
      effect: "write",
      params: T.Object({ id: T.String() }),
      replies: {},
      faults: ["snapshots_unavailable"],
    },
  },
)
