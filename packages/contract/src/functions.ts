import { area, type OperationSpec, T } from "./dsl.ts"
import {
  deployAliases,
  deployFields,
  FUNCTION_DEPLOY_BYTES_MAX,
  FUNCTION_PAYLOAD_BYTES_MAX,
  FunctionName,
  FunctionRecord,
  FunctionRef,
  FunctionVersion,
  functionLogStreams,
  Invocation,
  Invoked,
  invocationStatuses,
  LogLine,
  Queued,
} from "./functions-fields.ts"
import { functionUrlOperations } from "./functions-urls.ts"
import { described, Id, Nullable, OneOf, Page, PageQuery, pageQuery } from "./types.ts"

const One = T.Object({ id: FunctionRef })
const OneInvocation = T.Object({ id: FunctionRef, invocation_id: Id })

const DEPLOY_FAULTS = [
  "invalid_name",
  "invalid_parameter",
  "missing_parameter",
  "missing_scope",
  "invalid_function_code",
  "bucket_not_found",
  "object_not_found",
  "name_taken",
  "not_implemented",
  "plan_limit_reached",
] as const

const invokeFields = {
  scope: "functions:invoke",
  effect: "write",
  audit: "rollup",
} as const satisfies Partial<OperationSpec>

const CODE =
  "Exactly one of `code`, `code_zip`, `files` and `storage` is required; `storage` also needs `storage:read`. " +
  "Environment variables are encrypted at rest."

/** The specification names the three others alone (5.3), so each of them sees the functions it works on. */
const READS = ["functions:read", "functions:deploy", "functions:invoke", "functions:logs"] as const

export const functions = area(
  "functions",
  {
    title: "Functions",
    summary: "Code that runs on demand, each function isolated from all others",
    project: "required",
    belongs: "project",
  },
  {
    list: {
      id: "listFunctions",
      http: "GET /v1/functions",
      summary: "List functions",
      scope: READS,
      effect: "read",
      query: PageQuery,
      replies: { 200: Page(FunctionRecord) },
    },
    create: {
      id: "createFunction",
      http: "POST /v1/functions",
      summary: "Deploy a function",
      description: CODE,
      scope: "functions:deploy",
      effect: "write",
      body: T.Object({ name: FunctionName, ...deployFields }),
      aliases: deployAliases,
      bodyBytesMax: FUNCTION_DEPLOY_BYTES_MAX,
      nulFields: ["code", "files"],
      replies: { 201: FunctionRecord },
      faults: DEPLOY_FAULTS,
      example: {
        name: "hello",
        runtime: "nodejs",
        code: "export const handler = async event => ({ hello: event.name })",
      },
    },
    get: {
      id: "getFunction",
      http: "GET /v1/functions/{id}",
      summary: "Read a function",
      scope: READS,
      effect: "read",
      params: One,
      replies: { 200: FunctionRecord },
      faults: ["function_not_found"],
    },
    update: {
      id: "updateFunction",
      http: "PUT /v1/functions/{id}",
      summary: "Deploy a new version of a function",
      description: `${CODE} Fields that are left out do not change. Running invocations end on the version they started on.`,
      scope: "functions:deploy",
      effect: "write",
      params: One,
      body: T.Object({ name: T.Optional(FunctionName), ...deployFields }),
      aliases: deployAliases,
      bodyBytesMax: FUNCTION_DEPLOY_BYTES_MAX,
      nulFields: ["code", "files"],
      replies: { 200: FunctionRecord },
      faults: ["function_not_found", ...DEPLOY_FAULTS],
      example: { memory_mb: 256 },
    },
    delete: {
      id: "deleteFunction",
      http: "DELETE /v1/functions/{id}",
      summary: "Delete a function with its versions, invocations and logs",
      scope: "functions:deploy",
      effect: "destroy",
      risk: "high",
      params: One,
      replies: { 200: T.Object({ id: Id, deleted: T.Boolean({ description: "Always true" }) }) },
      faults: ["function_not_found"],
    },
    versions: {
      extension: true,
      id: "listFunctionVersions",
      http: "GET /v1/functions/{id}/versions",
      summary: "List the versions of a function, newest first",
      description: "The newest 20 are stored.",
      scope: READS,
      effect: "read",
      params: One,
      query: PageQuery,
      replies: { 200: Page(FunctionVersion) },
      faults: ["function_not_found"],
    },
    invoke: {
      ...invokeFields,
      id: "invokeFunction",
      http: "POST /v1/functions/{id}/invoke",
      summary: "Invoke a function",
      description:
        "The body is the event of the function. The reply is 200 also when the function fails or times out: see `status`. " +
        "With `?mode=async` or `Prefer: respond-async` the reply is 202 at once, and a failed invocation is retried " +
        "twice, after one and after two minutes.",
      params: One,
      query: T.Object({
        mode: T.Optional(OneOf(["sync", "async"], { description: "`sync` when left out" })),
      }),
      body: T.Object({
        payload: T.Optional(T.Record(T.String(), T.Unknown(), { description: "The event" })),
      }),
      bodyAs: "payload",
      bodyBytesMax: FUNCTION_PAYLOAD_BYTES_MAX,
      tooLarge: "function_payload_too_large",
      nulFields: ["payload"],
      replies: { 200: Invoked, 202: Queued },
      faults: [
        "function_not_found",
        "function_payload_too_large",
        "function_throttled",
        "no_host_capacity",
        "not_implemented",
      ],
      example: { payload: { name: "Ada" } },
    },
    invocations: {
      id: "listFunctionInvocations",
      http: "GET /v1/functions/{id}/invocations",
      summary: "List the invocations of a function, newest first",
      description: "The newest 10,000 are stored, for seven days.",
      scope: "functions:logs",
      effect: "read",
      params: One,
      query: T.Object({
        ...pageQuery,
        status: T.Optional(OneOf(invocationStatuses, { description: "Only invocations with this status" })),
      }),
      replies: { 200: Page(Invocation) },
      faults: ["function_not_found"],
    },
    getInvocation: {
      extension: true,
      id: "getFunctionInvocation",
      http: "GET /v1/functions/{id}/invocations/{invocation_id}",
      summary: "Read an invocation",
      scope: "functions:logs",
      effect: "read",
      params: OneInvocation,
      replies: { 200: Invocation },
      faults: ["function_not_found", "invocation_not_found"],
    },
    retryInvocation: {
      ...invokeFields,
      audit: "each",
      extension: true,
      id: "retryFunctionInvocation",
      http: "POST /v1/functions/{id}/invocations/{invocation_id}/retry",
      summary: "Retry an asynchronous invocation that failed for good",
      params: OneInvocation,
      replies: { 202: Queued },
      faults: ["function_not_found", "invocation_not_found", "invalid_state_transition"],
    },
    logs: {
      id: "getFunctionLogs",
      http: "GET /v1/functions/{id}/logs",
      summary: "Read the log lines of a function",
      description:
        "The newest lines, the oldest of them first; with `after`, the lines since that `cursor`. " +
        "Lines are stored for seven days; per invocation at most 1,000 lines and 64 KiB.",
      scope: "functions:logs",
      effect: "read",
      params: One,
      query: T.Object({
        limit: T.Optional(
          T.Integer({ minimum: 1, maximum: 1_000, default: 100, description: "Largest number of lines" }),
        ),
        after: T.Optional(T.String({ pattern: "^[0-9]{1,15}$", description: "`cursor` of the page before" })),
        invocation_id: T.Optional(described(Id, "Only lines of this invocation")),
        stream: T.Optional(OneOf(functionLogStreams, { description: "Only lines of this stream" })),
      }),
      replies: {
        200: T.Object(
          {
            data: T.Array(LogLine, { description: "Lines of the page, the oldest first" }),
            cursor: Nullable(T.String(), {
              description: "Asks for newer lines; null when there are none yet",
            }),
          },
          { "x-svc-list": true },
        ),
      },
      faults: ["function_not_found"],
    },
    ...functionUrlOperations,
  },
)
