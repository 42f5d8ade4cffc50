/** What requests and replies about sandboxes and computers have in common. */
import { MIB, T } from "./dsl.ts"
import { Dictionary, described, OneOf, Time } from "./types.ts"

export const EXEC_TIMEOUT_SECONDS_DEFAULT = 60
const EXEC_TIMEOUT_SECONDS_MAX = 3_600
/** Of each of the two outputs of a command; what comes after is left out. */
export const EXEC_OUTPUT_BYTES_MAX = MIB
export const WORKLOAD_ENV_MAX = 128
/** UTF-8 bytes of names and values together. */
export const WORKLOAD_ENV_BYTES_MAX = 64 * 1024
export const WORKLOAD_LABELS_MAX = 64
export const WORKLOAD_FILES_MAX = 64
/** Of a file that is answered as JSON. */
export const WORKLOAD_JSON_FILE_BYTES_MAX = 16 * MIB
/** Of a request that carries files as JSON. */
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
    "At most 128 variables and 64 KiB. Kept encrypted: replies tell the names only, in `env_names`",
})
export const EnvNames = T.Array(T.String(), {
  description: "Names of the environment variables; values are not shown",
})
export const Labels = Dictionary(T.String({ minLength: 1, maxLength: 128 }), T.String({ maxLength: 256 }), {
  description: "At most 64",
})

export const Vcpus = T.Number({
  exclusiveMinimum: 0,
  maximum: 1024,
  multipleOf: 0.25,
  description: "Virtual CPUs",
})
export const MemoryMb = T.Integer({ minimum: 1, maximum: 4_194_304, description: "Memory in MiB" })
export const DiskGb = T.Integer({ minimum: 1, maximum: 65_536, description: "Disk space in GiB" })
/** What a sandbox has. */
export const sandboxShape = {
  vcpus: T.Number({ description: "Virtual CPUs" }),
  memory_mb: T.Integer({ description: "Memory in MiB" }),
  disk_gb: T.Integer({
    description:
      "An ephemeral sandbox too has a disk beside its memory, which is gone when it ends. Where the installation cannot " +
      "make disks (it takes root), an ephemeral sandbox writes to its memory, up to three quarters of it; " +
      "`disk_total_bytes` of its metrics is what it has",
  }),
}

export const Image = T.String({
  minLength: 1,
  maxLength: 640,
  description:
    "`host`, the machine's own programs, which computers and persistent sandboxes may change, each for itself, and which " +
    "ephemeral sandboxes only read (docs/guides/computers.md names the drivers where nobody may); a template of this installation by its name; or a public image as " +
    "`alpine:3.20` or `ghcr.io/owner/name@sha256:…`, which is pulled for linux and this machine's architecture",
})
export const ImageDigest = T.Union([T.String(), T.Null()], {
  description: "Of the image that it is made from; null of others, and until that is known",
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
        "A string without `args` is run by `/bin/sh -c`; a list, or a string with `args`, without a shell",
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
    T.String({ maxLength: MIB, description: "What the command reads; nothing when left out" }),
  ),
  timeout_seconds: T.Optional(
    T.Number({
      minimum: 0.1,
      maximum: EXEC_TIMEOUT_SECONDS_MAX,
      default: EXEC_TIMEOUT_SECONDS_DEFAULT,
      description: "Then the command and all it started are killed",
    }),
  ),
}

export const commandAliases = {
  ...{ envs: "env", cmd: "command", timeout: "timeout_seconds", working_dir: "cwd", workdir: "cwd" },
} as const

const Truncated = T.Boolean({
  description: "One of the outputs had more than 1 MiB, and the rest is left out",
})

export const commandResult = {
  exit_code: T.Integer({
    description: "124 after a timeout; 128 and the signal's number when a signal ended it",
  }),
  stdout: T.String({ description: "UTF-8; bytes that are not are replaced" }),
  stderr: T.String({ description: "As `stdout`" }),
  duration_ms: T.Integer({ description: "Milliseconds that the command ran" }),
  timed_out: T.Boolean({ description: "True if `timeout_seconds` ended it" }),
  truncated: Truncated,
  signal: T.Union([T.String(), T.Null()], {
    description: "Signal that ended it, as `SIGKILL`; null if it exited by itself",
  }),
}

export const COMMAND_DESCRIPTION =
  "Answers when the command has ended, whatever it ended with. After `timeout_seconds` it is killed with all it " +
  "started, and the reply has `timed_out` and the exit code 124. What it left running in the background goes on."

const TERMINAL_PROTOCOL = "svc.terminal.v1"
/** Of one workload, in use at the same time. */
export const TERMINALS_MAX = 32
const TERMINAL_SIDE_MAX = 10_000

const terminalQuery = T.Object({
  command: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 8_192,
      description: "Run by `/bin/sh -c`; left out, the login shell of `user`",
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
      description: "What the client's terminal is, for `TERM`; `xterm-256color` when left out",
    }),
  ),
  tty: T.Optional(T.Boolean({ default: true, description: "False: pipes in place of a terminal" })),
  window: T.Optional(
    T.Integer({
      minimum: 4_096,
      maximum: 16 * MIB,
      description:
        "So many bytes at most are on their way, in either direction, that the other has not acknowledged",
    }),
  ),
})

const TERMINAL_DESCRIPTION =
  `A WebSocket of the subprotocol \`${TERMINAL_PROTOCOL}\`. Browsers, which cannot send headers with one, offer ` +
  "`svc.bearer.<key>` beside it, and `svc.project.<id>` and `svc.organization.<id>` in place of the headers that name " +
  "these; the cookie of a session counts with the platform's own `Origin` alone. Any other request is answered as a " +
  "WebSocket would be refused, and with 426 where it would not.\n\n" +
  'Binary messages are the terminal\'s bytes, both ways. Text messages are JSON: the client\'s `{"type":"resize", ' +
  '"columns":…,"rows":…}` and `{"type":"end"}` (the input ends; in a terminal, Ctrl-D), and as the last of the server ' +
  '`{"type":"exit","exit_code":…,"signal":…}`. With `tty=false` each binary message of the server begins with a byte ' +
  'that is 1 for stdout and 2 for stderr. With `window` both sides say in `{"type":"ack","bytes":…}` how many more ' +
  "bytes they have taken, the byte before stdout and stderr not counted; the other waits for it.\n\n" +
  "Close codes: 1000 after `exit`; 1001 the machine has ended; 1008 the key or session may not do this any more, or a " +
  "text message is not as it should be; 1009 a message has more than 1 MiB; 1012 the " +
  "platform stops. A client that leaves ends the command, by SIGHUP and then SIGKILL; so does one that answers no ping " +
  "for a minute. The machine counts as used while a terminal is open. Where terminals make no signals of keys (gVisor), " +
  "Ctrl-C is a character."

/** Of the terminal of any kind of workload, which adds where it is and who may open it. */
export const terminalSpec = {
  beyond: true,
  summary: "Open a terminal",
  description: TERMINAL_DESCRIPTION,
  effect: "write",
  transaction: "none",
  idempotent: "once",
  content: { reply: "websocket" },
  subprotocol: TERMINAL_PROTOCOL,
  query: terminalQuery,
  replies: { 101: null },
} as const

export const NewFile = T.Object(
  {
    path: GuestPath,
    content: T.Optional(T.String({ description: "What the file contains" })),
    content_base64: T.Optional(T.String({ description: "Short for `content` with `encoding: base64`" })),
    encoding: T.Optional(
      OneOf(["utf-8", "base64"], { description: "Encoding of `content`; `utf-8` when left out" }),
    ),
    mode: T.Optional(T.String({ pattern: "^0?[0-7]{3}$", description: "As in `0644`" })),
    owner: T.Optional(described(GuestUser, "Owner of the file; the user of the workload when left out")),
  },
  { additionalProperties: false },
)

/** Their number is the handler's to check: it has a refusal of its own. */
export const NewFiles = T.Array(NewFile, { maxItems: 1024, description: "Files to write" })

export const WorkloadMetrics = T.Object({
  timestamp: Time,
  cpu_count: T.Number({ description: "Virtual CPUs" }),
  cpu_used_percent: T.Number({
    description: "Of `cpu_count` processors, since the last reading or the start; 100 is all of them",
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
