/** What functions, their versions, invocations and logs look like. */
import { MIB, T } from "./dsl.ts"
import { workloadLimits } from "./plans.ts"
import { Dictionary, Id, Nullable, OneOf, Time } from "./types.ts"

const { timeout_seconds, memory_mb, vcpus, payload_bytes } = workloadLimits.function

/** UTF-8 bytes of a payload as JSON, and of the body of a request to a function's URL. */
export const FUNCTION_PAYLOAD_BYTES_MAX = payload_bytes.max
/** UTF-8 bytes of a function's return value as JSON. */
export const FUNCTION_RESPONSE_BYTES_MAX = payload_bytes.max
/** Bytes of a reply that a function streams behind its URL; as many as AWS Lambda's. */
export const FUNCTION_STREAM_BYTES_MAX = 200 * MIB
export const FUNCTION_TIMEOUT_SECONDS_DEFAULT = timeout_seconds.default
export const FUNCTION_MEMORY_MB_DEFAULT = memory_mb.default
export const FUNCTION_VCPUS_DEFAULT = vcpus.default
/** Largest number per project. */
export const FUNCTIONS_MAX = 1_000
export const FUNCTION_VERSIONS_KEPT = 20
export const FUNCTION_INVOCATIONS_KEPT = 10_000
export const FUNCTION_RETENTION_DAYS = 7
/** Largest size of unpacked code. */
export const FUNCTION_CODE_BYTES_MAX = 64 * MIB
export const FUNCTION_FILES_MAX = 5_000
/** Invocations that one instance may run at once. */
export const FUNCTION_CONCURRENCY_MAX = 100
/** UTF-8 bytes of names and values. */
export const FUNCTION_ENV_BYTES_MAX = 65_536
/** Log lines and bytes that are stored per invocation. */
export const FUNCTION_LOG_LINES_MAX = 1_000
export const FUNCTION_LOG_BYTES_MAX = 65_536

/** Base64 adds a third to the size. */
export const FUNCTION_DEPLOY_BYTES_MAX = 48 * MIB
const ZIP_BASE64_MAX = 44 * MIB

export const functionStatuses = ["ACTIVE", "FAILED"] as const
export type FunctionStatus = (typeof functionStatuses)[number]

export const functionTriggers = ["invoke", "http", "event", "cron"] as const
export type FunctionTrigger = (typeof functionTriggers)[number]

export const invocationStatuses = ["queued", "running", "success", "error", "timeout"] as const
export type InvocationStatus = (typeof invocationStatuses)[number]

export const functionLogStreams = ["stdout", "stderr", "platform"] as const
export type FunctionLogStream = (typeof functionLogStreams)[number]

export const FunctionName = T.String({
  pattern: "^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$",
  description:
    "1 to 63 letters, digits, dashes and underscores; unique in the project; not a UUID and not `public`",
})
/** As parameter of a path. */
export const FunctionRef = T.String({ minLength: 1, maxLength: 128, description: "Id or name" })

const FilePath = "^[^/\\\\\\u0000-\\u001f]+(/[^/\\\\\\u0000-\\u001f]+)*$"

const Runtime = T.String({
  minLength: 1,
  maxLength: 32,
  description:
    "`nodejs` or `python3`, with or without a version (`nodejs22`, `python3.12`): the installed version is used, " +
    "and returned as `runtime_version`. `wasm`: a command of WASI preview 1, which reads the event from its standard input " +
    "and writes the result to its standard output; behind the URL it is a CGI 1.1 program (RFC 3875). `container`: a " +
    "program of an image that answers HTTP on the port that PORT names; an invocation is a POST of the event to `/`",
})

export const deployFields = {
  runtime: T.Optional(Runtime),
  handler: T.Optional(
    T.String({
      maxLength: 200,
      pattern: "^[A-Za-z0-9_/-]+\\.[A-Za-z0-9_$]+$",
      description:
        "File without its extension, a dot, and the export: `index.handler` when left out. A JavaScript module may " +
        "instead have a default export: a function, or an object with `fetch(request)`. For WebAssembly only the file counts",
    }),
  ),
  code: T.Optional(
    T.String({
      maxLength: 4 * MIB,
      description: "The text of `index.js` or `index.py`, or `index.wasm` in base64",
    }),
  ),
  code_zip: T.Optional(T.String({ maxLength: ZIP_BASE64_MAX, description: "A zip archive in base64" })),
  files: T.Optional(
    Dictionary(T.String({ pattern: FilePath }), T.String({ maxLength: 4 * MIB }), {
      description: 'Text by path, such as `{"index.js": "…", "lib/a.js": "…"}`',
    }),
  ),
  storage: T.Optional(
    T.Object(
      {
        bucket: T.String({ minLength: 1, maxLength: 63, description: "Bucket of the project" }),
        key: T.String({ minLength: 1, maxLength: 1024, description: "Key of the object" }),
      },
      {
        additionalProperties: false,
        description: "A zip archive, or a module of WebAssembly, in a bucket of the project",
      },
    ),
  ),
  image: T.Optional(
    T.String({
      minLength: 1,
      maxLength: 512,
      description:
        "Image of the runtime `container`, such as `ghcr.io/owner/name:tag` or a template of the installation",
    }),
  ),
  memory_mb: T.Optional(
    T.Integer({
      minimum: 64,
      maximum: memory_mb.max,
      description: `Memory of an instance in MiB; ${memory_mb.default} when left out`,
    }),
  ),
  timeout_seconds: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: timeout_seconds.max,
      description: `How long an invocation may take; ${timeout_seconds.default} when left out`,
    }),
  ),
  vcpus: T.Optional(
    T.Number({
      minimum: 0.05,
      maximum: vcpus.max,
      description: `Virtual CPUs of an instance; ${vcpus.default} when left out`,
    }),
  ),
  env: T.Optional(
    Dictionary(T.String({ pattern: "^[A-Za-z_][A-Za-z0-9_]{0,127}$" }), T.String({ maxLength: 32_768 }), {
      maxProperties: 200,
      description: "Environment variables, encrypted at rest; replies have only their names",
    }),
  ),
  concurrency: T.Optional(
    T.Integer({
      minimum: 1,
      maximum: FUNCTION_CONCURRENCY_MAX,
      description: "Invocations that one instance runs at once; 1 when left out, and for `wasm`",
    }),
  ),
  min_instances: T.Optional(
    T.Integer({
      minimum: 0,
      maximum: 5,
      description:
        "Provisioned instances, which run even while nothing is invoked; 0 when left out. The plan limits them per project, and a host that " +
        "is full runs fewer",
    }),
  ),
  public: T.Optional(T.Boolean({ description: "True if its URL needs no key; false when left out" })),
  description: T.Optional(T.String({ maxLength: 500 })),
  labels: T.Optional(
    Dictionary(T.String({ minLength: 1, maxLength: 63 }), T.String({ maxLength: 255 }), {
      maxProperties: 50,
      description: "Labels of your own; none when left out",
    }),
  ),
}

export const deployAliases = {
  envs: "env",
  environment: "env",
  cpus: "vcpus",
  cpu: "vcpus",
  memory: "memory_mb",
  timeout: "timeout_seconds",
  metadata: "labels",
} as const

const versionFields = {
  version: T.Integer({ description: "Number of the deployment, from 1" }),
  runtime: T.String({ description: "Runtime as it was given" }),
  runtime_version: T.String({ description: "Installed version that runs it, such as `nodejs24.11.0`" }),
  handler: T.String({ description: "File and export that is called" }),
  code_sha256: T.String({ description: "SHA-256 of the files" }),
  code_size_bytes: T.Integer({ description: "Size of the files" }),
  memory_mb: T.Integer({ description: "Memory of an instance in MiB" }),
  timeout_seconds: T.Integer({ description: "How long an invocation may take" }),
  vcpus: T.Number({ description: "Virtual CPUs of an instance" }),
  env_names: T.Array(T.String(), { description: "Names of the environment variables; values are not shown" }),
  concurrency: T.Integer({ description: "Invocations that one instance runs at once" }),
  min_instances: T.Integer({ description: "Instances that run even while nothing is invoked" }),
  image: Nullable(T.String(), { description: "Image of the runtime `container`; null for other runtimes" }),
  image_digest: Nullable(
    T.String({
      description: "Digest of the image when the version first started; null for other runtimes and before",
    }),
  ),
}

export const FunctionRecord = T.Object({
  id: Id,
  name: T.String(),
  project_id: Id,
  description: T.String(),
  labels: T.Record(T.String(), T.String(), { description: "Labels of your own" }),
  status: T.Unsafe<FunctionStatus>(
    T.String({
      enum: [...functionStatuses],
      description: "`FAILED`: the newest version could not be loaded when it was last tried",
    }),
  ),
  status_reason: Nullable(T.String(), { description: "Why it could not be loaded; null if it could" }),
  ...versionFields,
  public: T.Boolean({ description: "True if its URL needs no key" }),
  url: T.String({ description: "URL of the function; accepts any method and any path below it" }),
  isolation: T.String({
    description: "How its instances are isolated from the host, such as `process` or `microvm`",
  }),
  network: OneOf(["none", "public"], {
    description: "`public`: it can reach public addresses; `none`: it cannot use the network",
  }),
  invocation_count: T.Integer({
    description: "Invocations since it was created; may be a few seconds behind",
  }),
  last_invoked_at: Nullable(Time, { description: "RFC 3339 time in UTC; null if it was never invoked" }),
  created_at: Time,
  updated_at: Time,
})

export const FunctionVersion = T.Object({
  ...versionFields,
  active: T.Boolean({ description: "True for the version that is invoked" }),
  created_at: Time,
})

export const InvocationError = T.Object({
  type: T.String({
    description:
      "Class of the error that was thrown, or `OutOfMemory`, `Timeout`, `Crash`, `InitError`, `ResponseTooLarge`, `InvalidResponse`",
  }),
  message: T.String({ description: "Message of the error" }),
  stack: Nullable(T.String(), { description: "Stack trace; null for none" }),
})

export const Invoked = T.Object({
  invocation_id: Id,
  status: OneOf(["success", "error", "timeout"], {
    description: "`timeout`: it took longer than `timeout_seconds`",
  }),
  result: T.Unknown({ description: "Return value of the function; null when it failed" }),
  error: Nullable(InvocationError, { description: "Why it failed; null if it succeeded" }),
  duration_ms: T.Number({ description: "Milliseconds that the function ran" }),
  cold_start: T.Boolean({ description: "True if an instance had to be started for it" }),
})

export const Queued = T.Object({
  invocation_id: Id,
  status: OneOf(["queued"], { description: "Always `queued`" }),
})

export const Invocation = T.Object({
  id: Id,
  function_id: Id,
  function_version: T.Integer({ description: "Version that ran" }),
  trigger: OneOf(functionTriggers, { description: "What invoked it" }),
  mode: OneOf(["sync", "async"], { description: "`async`: the caller did not wait" }),
  status: OneOf(invocationStatuses, { description: "`timeout`: it took longer than `timeout_seconds`" }),
  status_code: Nullable(
    T.Integer({ description: "HTTP status of the response at the function's URL; null for other triggers" }),
  ),
  attempt: T.Integer({ description: "Number of the attempt, from 1" }),
  created_at: Time,
  started_at: Nullable(Time, { description: "RFC 3339 time in UTC; null before it starts" }),
  ended_at: Nullable(Time, { description: "RFC 3339 time in UTC; null before it ends" }),
  queue_ms: Nullable(
    T.Number({
      description: "Milliseconds that it waited for an instance, start included; null before it starts",
    }),
  ),
  init_duration_ms: Nullable(
    T.Number({ description: "Milliseconds to start the instance and load the code; null for warm starts" }),
  ),
  duration_ms: Nullable(T.Number(), {
    description: "Milliseconds that the function ran; null before it ends",
  }),
  billed_duration_ms: Nullable(T.Integer(), { description: "`duration_ms` rounded up; null before it ends" }),
  memory_mb: T.Integer({ description: "Memory of the instance in MiB" }),
  max_memory_used_mb: Nullable(T.Integer(), {
    description: "Most memory that the instance used, in MiB; null if it was not measured",
  }),
  cold_start: Nullable(T.Boolean(), {
    description: "True if an instance had to be started for it; null before it starts",
  }),
  payload_bytes: T.Integer({ description: "Size of the event as JSON" }),
  response_bytes: Nullable(T.Integer(), { description: "Size of the response; null if there was none" }),
  result: T.Unknown({
    description: "Return value of an asynchronous invocation, up to 64 KiB; null otherwise",
  }),
  error: Nullable(InvocationError, { description: "Why it failed; null if it did not" }),
  request_id: Nullable(T.String(), { description: "Request that invoked it; null for other triggers" }),
})

export const LogLine = T.Object({
  timestamp: Time,
  stream: OneOf(functionLogStreams, {
    description: "`platform`: lines about the instance, such as its start",
  }),
  message: T.String({ description: "Text of the line" }),
  invocation_id: Nullable(Id, {
    description: "Invocation that wrote the line; null for lines outside of one",
  }),
})
