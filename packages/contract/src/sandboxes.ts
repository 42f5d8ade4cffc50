import { area, T } from "./dsl.ts"
import { Stream } from "./events-fields.ts"
import {
  ExtendedSandbox,
  Network,
  NOT_USABLE,
  One,
  SANDBOX_PORTS_MAX,
  Sandbox,
  sandboxKinds,
  sandboxStatuses,
} from "./sandboxes-fields.ts"
import { AnyCase, described, Id, Name, OneOf, pageQuery } from "./types.ts"
import {
  AbsoluteGuestPath,
  COMMAND_DESCRIPTION,
  commandAliases,
  commandFields,
  commandResult,
  DiskGb,
  Env,
  GuestUser,
  Image,
  Isolation,
  Labels,
  MemoryMb,
  NewFiles,
  shapeAliases,
  terminalSpec,
  Vcpus,
  WORKLOAD_FILES_BODY_BYTES_MAX,
  WorkloadMetrics,
} from "./workload-fields.ts"

export const sandboxes = area(
  "sandboxes",
  {
    title: "Sandboxes",
    summary:
      "Isolated Linux environments for untrusted code that start in milliseconds and end by themselves",
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
        kind: T.Optional(OneOf(sandboxKinds, { description: "Only sandboxes of this kind" })),
      }),
      replies: {
        200: T.Object({
          sandboxes: T.Array(Sandbox, { description: "Sandboxes of the page" }),
          total: T.Integer({ description: "Number of sandboxes on all pages" }),
        }),
      },
    },
    create: {
      id: "sandboxCreate",
      http: "POST /v1/sandboxes",
      summary: "Create a sandbox",
      description:
        "A sandbox from the warm pool is `RUNNING` at once; otherwise it is `PROVISIONING`, and calls that use it wait " +
        "until it runs. An `ephemeral` one leaves nothing behind; the disk of a `persistent` one stays until it " +
        "is deleted. `timeout_seconds` is a hard deadline, `idle_timeout_seconds` counts from the last call that used it. " +
        "`isolation` is the weakest that is accepted: weaker fails. A `template` that is not present is pulled while it is " +
        "`PROVISIONING`; if that fails it is `FAILED`, and `status_reason` says why. Commands inherit the environment and working " +
        "directory of an image; its entry point is not run.",
      scope: "sandboxes:write",
      effect: "write",
      body: T.Object({
        kind: T.Optional(OneOf(sandboxKinds, { description: "`ephemeral` when left out" })),
        template: T.Optional(Image),
        name: T.Optional(Name),
        vcpus: T.Optional(Vcpus),
        memory_mb: T.Optional(MemoryMb),
        disk_gb: T.Optional(DiskGb),
        timeout_seconds: T.Optional(
          T.Integer({
            minimum: 0,
            maximum: 10 * 365 * 86_400,
            description:
              "Seconds until the hard deadline; 300 when left out; 0, the default of persistent sandboxes: none",
          }),
        ),
        idle_timeout_seconds: T.Optional(
          T.Integer({
            minimum: 0,
            maximum: 10 * 365 * 86_400,
            description:
              "Idle seconds after which it ends; 120 when left out; 0, the default of persistent sandboxes: never",
          }),
        ),
        env: T.Optional(Env),
        labels: T.Optional(Labels),
        cwd: T.Optional(
          described(
            AbsoluteGuestPath,
            "Working directory of commands that name none; that of the image, else `/workspace`, when left out",
          ),
        ),
        user: T.Optional(described(GuestUser, "User of commands that name none; `user` when left out")),
        network: T.Optional(Network),
        ports: T.Optional(
          T.Array(T.Integer({ minimum: 1, maximum: 65_535 }), {
            maxItems: SANDBOX_PORTS_MAX,
            description: "Ports that get public URLs for HTTP and WebSocket; none when left out",
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
      example: { template: "host-rootfs", vcpus: 1, memory_mb: 512, timeout_seconds: 300 },
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
      summary: "Delete a sandbox and its disk",
      scope: "sandboxes:write",
      effect: "destroy",
      params: One,
      replies: { 204: null },
      faults: ["sandbox_not_found"],
    },
    runCommand: {
      id: "sandboxRunCommand",
      http: "POST /v1/sandboxes/{id}/commands",
      summary: "Run a command and wait until it ends",
      description: COMMAND_DESCRIPTION,
      scope: "sandboxes:write",
      effect: "write",
      idempotency: "none",
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
      extension: true,
      id: "sandboxStreamCommand",
      http: "POST /v1/sandboxes/{id}/commands/stream",
      summary: "Run a command and follow its output",
      description:
        "Server-sent events: `stdout` and `stderr` with `{data}` (base64), without a size limit; at the end `exit` with " +
        "the reply of the waiting form, without the outputs. Closing the connection kills the command.",
      scope: "sandboxes:write",
      effect: "write",
      idempotency: "none",
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
      extension: true,
      id: "sandboxMetrics",
      http: "GET /v1/sandboxes/{id}/metrics",
      summary: "Show the resource usage of a running sandbox",
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
        "`duration_seconds` is added to `expires_at`, up to the longest timeout of its kind: " +
        "`granted_seconds` says how much was added. A sandbox without a deadline keeps " +
        "none.",
      scope: "sandboxes:write",
      effect: "write",
      params: One,
      body: T.Object({
        duration_seconds: T.Integer({
          minimum: 1,
          maximum: 10 * 365 * 86_400,
          description: "Seconds to add",
        }),
      }),
      aliases: { duration: "duration_seconds" },
      replies: { 200: ExtendedSandbox },
      faults: ["sandbox_not_found", "sandbox_not_running"],
      example: { duration_seconds: 60 },
    },
    start: {
      extension: true,
      id: "sandboxStart",
      http: "POST /v1/sandboxes/{id}/start",
      summary: "Start a stopped persistent sandbox",
      scope: "sandboxes:write",
      effect: "write",
      transaction: "none",
      idempotency: "natural",
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
      extension: true,
      id: "sandboxStop",
      http: "POST /v1/sandboxes/{id}/stop",
      summary: "Stop a sandbox",
      description: "The disk of a persistent one is kept; an ephemeral one is gone for good.",
      scope: "sandboxes:write",
      effect: "write",
      transaction: "none",
      idempotency: "natural",
      params: One,
      replies: { 200: Sandbox },
      faults: ["sandbox_not_found", "host_unavailable"],
    },
    writeFiles: {
      id: "sandboxWriteFiles",
      http: "POST /v1/sandboxes/{id}/files",
      summary: "Write files",
      description:
        "Files below `/workspace`, `/home/user` and `/tmp`, in order; each is replaced atomically. Relative paths " +
        "begin at `cwd`, or at the working directory of the sandbox.",
      scope: "sandboxes:write",
      effect: "write",
      idempotency: "natural",
      audit: "rollup",
      params: One,
      body: T.Object({
        files: NewFiles,
        cwd: T.Optional(
          described(
            AbsoluteGuestPath,
            "Where relative paths begin; the working directory of the sandbox when left out",
          ),
        ),
      }),
      bodyBytesMax: WORKLOAD_FILES_BODY_BYTES_MAX,
      replies: { 204: null },
      faults: [...NOT_USABLE, "too_many_files", "invalid_parameter", "path_outside_guest_roots"],
      example: { files: [{ path: "/workspace/hello.txt", content: "hello" }] },
    },
    putFile: {
      extension: true,
      id: "sandboxPutFile",
      http: "PUT /v1/sandboxes/{id}/files/{path}",
      summary: "Write a file from the bytes of the request",
      description:
        "`path` is absolute, with or without its first slash, or relative to the working directory of the sandbox. At most 1 GiB; " +
        "an incomplete upload writes nothing.",
      scope: "sandboxes:write",
      effect: "write",
      idempotency: "natural",
      audit: "rollup",
      rest: true,
      content: { request: "bytes" },
      params: T.Object({
        id: Id,
        path: T.String({ minLength: 1, maxLength: 4096, description: "Path of the file" }),
      }),
      replies: { 204: null },
      faults: [...NOT_USABLE, "invalid_parameter", "path_outside_guest_roots"],
    },
    readFile: {
      id: "sandboxReadFile",
      http: "GET /v1/sandboxes/{id}/files/{path}",
      summary: "Read a file as it is",
      description:
        "`path` is absolute, with or without its first slash (`workspace/a.txt`, `%2Fworkspace%2Fa.txt`), or relative to " +
        "the working directory of the sandbox (`a.txt`). 404 for paths that do not exist, are no file, or are " +
        "outside `/workspace`, `/home/user` and `/tmp`.",
      scope: "sandboxes:read",
      effect: "read",
      rest: true,
      content: { reply: "bytes" },
      params: T.Object({
        id: Id,
        path: T.String({ minLength: 1, maxLength: 4096, description: "Path of the file" }),
      }),
      replies: { 200: T.Unknown() },
      faults: [...NOT_USABLE, "file_not_found"],
    },
    snapshot: {
      id: "sandboxSnapshot",
      http: "POST /v1/sandboxes/{id}/snapshot",
      summary: "Snapshots are not available: always 501",
      scope: "sandboxes:write",
      effect: "write",
      params: T.Object({ id: T.String({ description: "Id of the sandbox" }) }),
      replies: {},
      faults: ["snapshots_unavailable"],
    },
  },
)
