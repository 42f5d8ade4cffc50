import { area, type Static, T } from "./dsl.ts"
import { described, Id, Nullable, OneOf, pageQuery, Time } from "./types.ts"
import {
  COMMAND_DESCRIPTION,
  commandAliases,
  commandFields,
  commandResult,
  DiskGb,
  Env,
  EnvNames,
  GuestPath,
  Image,
  ImageDigest,
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

/** Largest number per organization. */
export const COMPUTERS_MAX = 200
export const COMPUTER_SSH_KEYS_MAX = 32 // specification 8.5

export const computerStatuses = ["CREATING", "RUNNING", "STOPPED", "ERROR"] as const
export type ComputerStatus = (typeof computerStatuses)[number]

const One = T.Object({ id: Id })
const NOT_USABLE = [
  "computer_not_found",
  "computer_not_running",
  "host_unavailable",
  "service_unavailable",
] as const

/** The handler checks their form, because it has error codes of its own. */
const SshKeys = T.Array(T.String({ maxLength: 16_384 }), {
  maxItems: 1024,
  description: "Public keys, as lines of authorized_keys without options; at most 32",
})
const ComputerName = T.String({
  minLength: 1,
  maxLength: 255,
  description: "A DNS label: at most 63 lower-case letters, digits and hyphens",
})

const Computer = T.Object({
  id: Id,
  name: T.String({ description: "Name, unique in the project; also the user name of ssh" }),
  status: OneOf(computerStatuses, {
    description: "`ERROR`: it could not start; `status_reason` says why",
  }),
  status_reason: Nullable(T.String(), {
    description: "Why it is in this state; null for nothing to say",
  }),
  project_id: Nullable(Id, { description: "Project it belongs to; null for the organization" }),
  host_id: described(Id, "Machine of the installation that it runs on"),
  vcpus: T.Number({ description: "Virtual CPUs" }),
  memory_mb: T.Integer({ description: "Memory in MiB" }),
  disk_gb: T.Integer({ description: "Disk space in GiB" }),
  image: T.String({ description: "Image that it was created from" }),
  image_digest: ImageDigest,
  ssh_keys: T.Array(T.String(), { description: "Public keys that may log in" }),
  env_names: EnvNames,
  labels: Labels,
  ssh_host: Nullable(
    T.String({
      description:
        "Host name of ssh: `ssh -p <ssh_port> <name>@<ssh_host>`, or `root+<name>`; null where ssh is off",
    }),
  ),
  ssh_port: Nullable(T.Integer(), { description: "TCP port of ssh; null where ssh is off" }),
  ssh_host_key: Nullable(
    T.String({
      description:
        "Public host key of ssh, as in known_hosts after `[ssh_host]:ssh_port`; the same for all " +
        "computers of an installation; null where ssh is off",
    }),
  ),
  ssh_host_fingerprint: Nullable(
    T.String({
      description: "Fingerprint of that key, as ssh shows it on the first connection; null where ssh is off",
    }),
  ),
  isolation: OneOf(["process", "container", "gvisor", "microvm-emulated", "microvm"], {
    description: "How it is isolated from its host",
  }),
  auto_stop_seconds: T.Integer({ description: "Seconds of inactivity after which it is stopped; 0: never" }),
  last_activity_at: Nullable(Time, {
    description: "RFC 3339 time in UTC of the last command or file; null before the first",
  }),
  created_at: Time,
  updated_at: Time,
  started_at: Nullable(Time, {
    description: "RFC 3339 time in UTC of the last start; null if it never started",
  }),
  stopped_at: Nullable(Time, {
    description: "RFC 3339 time in UTC of the last stop; null while it runs",
  }),
})
export type ComputerPayload = Static<typeof Computer>

const createFields = {
  vcpus: T.Optional(Vcpus),
  memory_mb: T.Optional(MemoryMb),
  disk_gb: T.Optional(DiskGb),
  image: T.Optional(Image),
  ssh_keys: T.Optional(SshKeys),
  env: T.Optional(Env),
  labels: T.Optional(Labels),
  auto_stop_seconds: T.Optional(
    T.Integer({
      minimum: 0,
      maximum: 365 * 86_400,
      description: "Seconds after the last command or file after which it is stopped; 0, the default: never",
    }),
  ),
  isolation: T.Optional(Isolation),
}

const CREATE_FAULTS = [
  "invalid_name",
  "invalid_resource_shape",
  "invalid_parameter",
  "invalid_ssh_key",
  "too_many_keys",
  "plan_limit_reached",
  "not_implemented",
  "isolation_tier_unavailable",
  "no_host_capacity",
  "service_unavailable",
] as const

export const computers = area(
  "computers",
  {
    title: "Computers",
    summary: "Linux machines with a persistent disk and ssh",
    project: "optional",
    belongs: "project",
    envelope: "bare",
  },
  {
    list: {
      id: "computerList",
      http: "GET /v1/computers",
      summary: "List computers, newest first",
      scope: "computers:read",
      effect: "read",
      query: T.Object(pageQuery),
      replies: {
        200: T.Object({
          computers: T.Array(Computer, { description: "Computers of the page" }),
          total: T.Integer({ description: "Number of computers on all pages" }),
        }),
      },
    },
    create: {
      id: "computerCreate",
      http: "POST /v1/computers",
      summary: "Create a computer",
      description:
        "It is `CREATING` until it runs; calls that use it wait for that. `isolation` is the weakest that is accepted: " +
        "weaker fails. The image is resolved at the first start and fixed as `image_digest`; one that " +
        "cannot be pulled makes it `ERROR`, and `status_reason` says why.",
      scope: "computers:write",
      effect: "write",
      body: T.Object({ name: ComputerName, ...createFields }),
      aliases: shapeAliases,
      replies: { 201: Computer },
      faults: [...CREATE_FAULTS, "name_taken"],
      example: { name: "build-1", vcpus: 1, memory_mb: 1024, disk_gb: 10 },
    },
    get: {
      id: "computerGet",
      http: "GET /v1/computers/{id}",
      summary: "Read a computer",
      scope: "computers:read",
      effect: "read",
      params: One,
      replies: { 200: Computer },
      faults: ["computer_not_found"],
    },
    delete: {
      id: "computerDelete",
      http: "DELETE /v1/computers/{id}",
      summary: "Delete a computer and its disk, for good",
      scope: "computers:write",
      effect: "destroy",
      risk: "high",
      params: One,
      replies: { 204: null },
      faults: ["computer_not_found"],
    },
    exec: {
      id: "computerExec",
      http: "POST /v1/computers/{id}/exec",
      summary: "Run a command and wait until it ends",
      description: COMMAND_DESCRIPTION,
      scope: "computers:exec",
      effect: "write",
      idempotency: "none",
      audit: "rollup",
      params: One,
      body: T.Object(commandFields),
      aliases: commandAliases,
      bodyBytesMax: 4 * 1024 * 1024,
      replies: { 200: T.Object(commandResult) },
      faults: [...NOT_USABLE, "invalid_parameter"],
      example: { command: "uname -a" },
    },
    terminal: {
      ...terminalSpec,
      id: "computerTerminal",
      http: "GET /v1/computers/{id}/terminal",
      scope: "computers:exec",
      params: One,
      faults: [...NOT_USABLE, "invalid_parameter", "too_many_terminals"],
    },
    readFile: {
      id: "computerReadFile",
      http: "GET /v1/computers/{id}/files",
      summary: "Read a file, base64-encoded",
      description: "At most 16 MiB; split larger files with commands.",
      scope: "computers:exec",
      effect: "read",
      params: One,
      query: T.Object({ path: T.Optional(described(GuestPath, "Path of the file")) }),
      replies: {
        200: T.Object({
          path: T.String({ description: "Path of the file" }),
          content: T.String({ description: "What the file contains, in base64" }),
          encoding: OneOf(["base64"], { description: "Always `base64`" }),
          size: T.Integer({ description: "Size in bytes" }),
          mode: T.String({ description: "Permissions in octal, as `0644`" }),
          modified_at: described(Time, "RFC 3339 time in UTC of the last change"),
        }),
      },
      faults: [...NOT_USABLE, "path_required", "invalid_parameter", "file_not_found"],
    },
    writeFiles: {
      id: "computerWriteFiles",
      http: "PUT /v1/computers/{id}/files",
      summary: "Write files",
      description: "1 to 64 files, in order; each is replaced atomically. Paths are absolute.",
      scope: "computers:exec",
      effect: "write",
      idempotency: "natural",
      audit: "rollup",
      params: One,
      body: T.Object({ files: T.Optional(NewFiles) }),
      bodyBytesMax: WORKLOAD_FILES_BODY_BYTES_MAX,
      replies: { 204: null },
      faults: [...NOT_USABLE, "too_many_files", "invalid_parameter"],
      example: { files: [{ path: "/etc/motd", content: "Welcome" }] },
    },
    setSshKeys: {
      id: "computerSetSshKeys",
      http: "PUT /v1/computers/{id}/ssh-keys",
      summary: "Replace the ssh keys of a computer",
      description:
        "Replaces the whole list. A running computer has them at once, in the authorized_keys of its user and of root; " +
        "a stopped one at its next start.",
      scope: "computers:write",
      effect: "write",
      idempotency: "natural",
      params: One,
      body: T.Object({ ssh_keys: SshKeys }),
      replies: { 200: Computer },
      faults: [
        "computer_not_found",
        "invalid_ssh_key",
        "too_many_keys",
        "ssh_keys_not_delivered",
        "host_unavailable",
      ],
      example: {
        ssh_keys: [
          "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1mYj2Gz5M0b0m6kMZ1m0x0o1xkq0S3b7vQy0b1Qk7Q ada@laptop",
        ],
      },
    },
    start: {
      id: "computerStart",
      http: "POST /v1/computers/{id}/start",
      summary: "Start a stopped computer",
      scope: "computers:write",
      effect: "write",
      transaction: "none",
      idempotency: "natural",
      params: One,
      replies: { 200: Computer },
      faults: ["computer_not_found", "no_host_capacity", "image_unavailable", "host_unavailable"],
    },
    stop: {
      id: "computerStop",
      http: "POST /v1/computers/{id}/stop",
      summary: "Stop a computer; its disk is kept",
      scope: "computers:write",
      effect: "write",
      transaction: "none",
      idempotency: "natural",
      params: One,
      replies: { 200: Computer },
      faults: ["computer_not_found", "host_unavailable"],
    },
    metrics: {
      extension: true,
      id: "computerMetrics",
      http: "GET /v1/computers/{id}/metrics",
      summary: "Show the resource usage of a running computer",
      scope: "computers:read",
      effect: "read",
      params: One,
      replies: { 200: WorkloadMetrics },
      faults: NOT_USABLE,
    },
    getOrCreate: {
      id: "computerGetOrCreateByName",
      http: "PUT /v1/computers/by-name/{name}",
      summary: "Get the computer of this name, and create it if there is none",
      description: "An existing computer is returned unchanged, whatever the other fields are.",
      scope: "computers:write",
      effect: "write",
      idempotency: "natural",
      params: T.Object({ name: ComputerName }),
      body: T.Object({
        ...createFields,
        name: T.Optional(
          T.Unsafe<string>(T.String({ maxLength: 64, description: "The same as in the path, if given" })),
        ),
      }),
      aliases: shapeAliases,
      replies: { 200: Computer, 201: Computer },
      faults: CREATE_FAULTS,
      example: { vcpus: 1, memory_mb: 1024 },
    },
  },
)
