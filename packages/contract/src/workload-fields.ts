/** What requests and replies about sandboxes and computers have in common. */
import { MIB, T } from "./dsl.ts"
import { Dictionary, described, OneOf, Time } from "./types.ts"

export const EXEC_TIMEOUT_SECONDS_DEFAULT = 60
const EXEC_TIMEOUT_SECONDS_MAX = 3_600
/** Largest size of each of the two outputs of a command; the rest is dropped. */
export const EXEC_OUTPUT_BYTES_MAX = MIB
export const WORKLOAD_ENV_MAX = 128
/** UTF-8 bytes of names and values together. */
export const WORKLOAD_ENV_BYTES_MAX = 64 * 1024
export const WORKLOAD_LABELS_MAX = 64
export const WORKLOAD_FILES_MAX = 64
/** Largest file that is returned as JSON. */
export const WORKLOAD_JSON_FILE_BYTES_MAX = 16 * MIB
/** Largest request with files as JSON. */
export const WORKLOAD_FILES_BODY_BYTES_MAX = 32 * MIB

export const isolations = ["process", "container", "gvisor", "microvm-emulated", "microvm"] as const
export const guestUsers = ["user", "root"] as const

export const Isolation = OneOf(isolations, {
  description: "Weakest isolation that is accepted; the strongest available when left out",
})
export const GuestUser = OneOf(guestUsers, {
  description: "`user` is unprivileged, `root` may install software",
})
export const GuestPath = T.String({ minLength: 1, maxLength: 4096, description: "Path of the file" })
export const AbsoluteGuestPath = T.String({
  minLength: 1,
  maxLength: 4096,
  pattern: "^/",
  description: "Absolute",
})

const VariableName = T.String({ minLength: 1, maxLength: 256 })

export const Env = Dictionary(VariableName, T.String(), {
  description:
    "Environment variables, at most 128 and 64 KiB, encrypted at rest; replies have only their names, in `env_names`",
})
export const EnvNames = T.Array(T.String(), {
  description: "Names of the environment variables; values are not shown",
})
export const Labels = Dictionary(T.String({ minLength: 1, maxLength: 128 }), T.String({ maxLength: 256 }), {
  description: "Labels of your own, at most 64",
})

export const Vcpus = T.Number({
  exclusiveMinimum: 0,
  maximum: 1024,
  multipleOf: 0.25,
  description: "Virtual CPUs",
})
export const MemoryMb = T.Integer({ minimum: 1, maximum: 4_194_304, description: "Memory in MiB" })
export const DiskGb = T.Integer({ minimum: 1, maximum: 65_536, description: "Disk space in GiB" })
/** Resources of a sandbox. */
export const sandboxShape = {
  vcpus: T.Number({ description: "Virtual CPUs" }),
  memory_mb: T.Integer({ description: "Memory in MiB" }),
  disk_gb: T.Integer({
    description:
      "Disk space in GiB. The disk of an ephemeral sandbox is deleted when it ends. Where the installation cannot " +
      "create disks (it needs root), an ephemeral sandbox writes to its memory, up to three quarters of it; " +
      "`disk_total_bytes` of its metrics is the actual size",
  }),
}

export const Image = T.String({
  minLength: 1,
  maxLength: 640,
  description:
    "`host-rootfs`, the programs of the host, which computers and persistent sandboxes may change, each for itself, and which " +
    "ephemeral sandboxes only read (docs/guides/computers.md names the drivers where all only read); a template of this installation by its name; or a public image as " +
    "`alpine:3.20` or `ghcr.io/owner/name@sha256:…`, which is pulled for linux and this machine's architecture",
})
export const ImageDigest = T.Union([T.String(), T.Null()], {
  description: "Digest of the image; null for other templates, and until it is known",
})

/** Names that others use for the same fields. */
export const shapeAliases = {
  ...{ envs: "env", cpu: "vcpus", cpus: "vcpus", memory: "memory_mb", metadata: "labels" },
  ...{ working_dir: "cwd", workdir: "cwd", timeout: "timeout_seconds" },
} as const

export const commandFields = {
  command: T.Union(
    [
      T.String({ minLength: 1, maxLength: 131_072 }),
      T.Array(T.String({ maxLength: 131_072 }), { minItems: 1, maxItems: 1024 }),
    ],
    {
      description:
        "Command to run: a string without `args` by `/bin/sh -c`; a list, or a string with `args`, without a shell",
    },
  ),
  args: T.Optional(
    T.Array(T.String({ maxLength: 131_072 }), {
      maxItems: 1024,
      description: "Arguments; with them `command` is a program that runs without a shell",
    }),
  ),
  cwd: T.Optional(described(AbsoluteGuestPath, "Working directory; that of the workload when left out")),
  env: T.Optional(
    Dictionary(VariableName, T.String(), {
      description: "Environment variables, beside those of the workload",
    }),
  ),
  user: T.Optional(described(GuestUser, "User that runs the command; that of the workload when left out")),
  stdin: T.Optional(
    T.String({ maxLength: MIB, description: "Standard input of the command; empty when left out" }),
  ),
  timeout_seconds: T.Optional(
    T.Number({
      minimum: 0.1,
      maximum: EXEC_TIMEOUT_SECONDS_MAX,
      default: EXEC_TIMEOUT_SECONDS_DEFAULT,
      description: "Time limit, after which the command and all its processes are killed",
    }),
  ),
}

export const commandAliases = {
  ...{ envs: "env", cmd: "command", timeout: "timeout_seconds", working_dir: "cwd", workdir: "cwd" },
} as const

const Truncated = T.Boolean({
  description: "True if an output had more than 1 MiB, and the rest was dropped",
})

export const commandResult = {
  exit_code: T.Integer({
    description: "Exit code; 124 after a timeout; 128 plus the number of the signal that ended it",
  }),
  stdout: T.String({ description: "Standard output as UTF-8; invalid bytes are replaced" }),
  stderr: T.String({ description: "Standard error, as `stdout`" }),
  duration_ms: T.Integer({ description: "Milliseconds that the command ran" }),
  timed_out: T.Boolean({ description: "True if `timeout_seconds` ended it" }),
  truncated: Truncated,
  signal: T.Union([T.String(), T.Null()], {
    description: "Signal that ended it, as `SIGKILL`; null if it exited by itself",
  }),
}

export const COMMAND_DESCRIPTION =
  "The reply is sent when the command has ended, with any exit code. After `timeout_seconds` it is killed with all its " +
  "processes, and the reply has `timed_out` and the exit code 124. Background processes of a command that ended keep running."

const TERMINAL_PROTOCOL = "svc.terminal.v1"
/** Largest number of open terminals per workload. */
export const TERMINALS_MAX = 32
const TERMINAL_SIDE_MAX = 10_000

const terminalQuery = T.Object({
  command: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 8_192,
      description: "Command to run by `/bin/sh -c`; the login shell of `user` when left out",
    }),
  ),
  cwd: T.Optional(described(AbsoluteGuestPath, "Working directory; that of the workload when left out")),
  user: T.Optional(
    described(GuestUser, "User that the terminal runs as; that of the workload when left out"),
  ),
  columns: T.Optional(
    T.Integer({ minimum: 1, maximum: TERMINAL_SIDE_MAX, default: 80, description: "Width in characters" }),
  ),
  rows: T.Optional(
    T.Integer({ minimum: 1, maximum: TERMINAL_SIDE_MAX, default: 24, description: "Height in lines" }),
  ),
  term: T.Optional(
    T.String({
      pattern: "^[A-Za-z0-9+._-]{1,64}$",
      description: "Value of `TERM`; `xterm-256color` when left out",
    }),
  ),
  tty: T.Optional(T.Boolean({ default: true, description: "False: pipes instead of a terminal" })),
  window: T.Optional(
    T.Integer({
      minimum: 4_096,
      maximum: 16 * MIB,
      description:
        "Largest number of bytes in flight in each direction that the receiver has not acknowledged; no limit when left out",
    }),
  ),
})

const TERMINAL_DESCRIPTION =
  `A WebSocket of the subprotocol \`${TERMINAL_PROTOCOL}\`. Browsers, which cannot send headers with one, offer ` +
  "`svc.bearer.<key>` beside it, and `svc.project.<id>` and `svc.organization.<id>` in place of the headers that name " +
  "these; the cookie of a session counts with the platform's own `Origin` alone. Any other request gets the error that a " +
  "WebSocket would be, and with 426 where a WebSocket would be accepted.\n\n" +
  'Binary messages are the terminal\'s bytes, both ways. Text messages are JSON: the client\'s `{"type":"resize", ' +
  '"columns":…,"rows":…}` and `{"type":"end"}` (the input ends; in a terminal, Ctrl-D), and as the last of the server ' +
  '`{"type":"exit","exit_code":…,"signal":…}`. With `tty=false` each binary message of the server begins with a byte ' +
  'that is 1 for stdout and 2 for stderr. With `window` both sides say in `{"type":"ack","bytes":…}` how many more ' +
  "bytes they have processed, the byte before stdout and stderr not counted; the sender waits for it.\n\n" +
  "Close codes: 1000 after `exit`; 1001 the machine has stopped; 1008 the key or session has lost the permission, or a " +
  "text message is invalid; 1009 a message has more than 1 MiB; 1012 the " +
  "server stops. When the client disconnects, or answers no ping for a minute, the command is ended by SIGHUP and then " +
  "SIGKILL. The machine counts as used while a terminal is open. Where terminals do not turn keys into signals (gVisor), " +
  "Ctrl-C arrives as a character."

/** Declaration of a terminal, shared by all kinds of workloads, which add path and scope. */
export const terminalSpec = {
  extension: true,
  summary: "Open a terminal",
  description: TERMINAL_DESCRIPTION,
  effect: "write",
  transaction: "none",
  idempotency: "none",
  content: { reply: "websocket" },
  subprotocol: TERMINAL_PROTOCOL,
  query: terminalQuery,
  replies: { 101: null },
} as const

export const NewFile = T.Object(
  {
    path: GuestPath,
    content: T.Optional(T.String({ description: "What the file contains" })),
    content_base64: T.Optional(T.String({ description: "Short form of `content` with `encoding: base64`" })),
    encoding: T.Optional(
      OneOf(["utf-8", "base64"], { description: "Encoding of `content`; `utf-8` when left out" }),
    ),
    mode: T.Optional(T.String({ pattern: "^0?[0-7]{3}$", description: "Permissions in octal, as `0644`" })),
    owner: T.Optional(described(GuestUser, "Owner of the file; the user of the workload when left out")),
  },
  { additionalProperties: false },
)

/** The handler checks the number of files, because it has an error code of its own. */
export const NewFiles = T.Array(NewFile, { maxItems: 1024, description: "Files to write" })

export const WorkloadMetrics = T.Object({
  timestamp: Time,
  cpu_count: T.Number({ description: "Virtual CPUs" }),
  cpu_used_percent: T.Number({
    description: "CPU use since the last reading or the start, in percent of all `cpu_count` CPUs",
  }),
  memory_used_bytes: T.Integer({ description: "Memory in use" }),
  memory_peak_bytes: T.Integer({ description: "Most memory that was in use since the start" }),
  memory_total_bytes: T.Integer({ description: "Memory that it may use" }),
  disk_used_bytes: T.Integer({ description: "Disk space in use" }),
  disk_total_bytes: T.Integer({ description: "Disk space that it may use" }),
  processes: T.Integer({ description: "Number of processes" }),
  network_received_bytes: T.Union([T.Integer(), T.Null()], {
    description: "Bytes received since the start; null if they are not counted",
  }),
  network_sent_bytes: T.Union([T.Integer(), T.Null()], {
    description: "Bytes sent since the start; null if they are not counted",
  }),
})
