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
  "Exactly one of `code`, `code_zip`, `files` and `storage` says what runs; `storage` also takes `storage:read`. " +
  "The environment is kept encrypted."

/** The specification names the three others alone (5.3), so each of them sees the functions it works on. */
const READS = ["functions:read", "functions:deploy", "functions:invoke", "functions:logs"] as const

export const functions = area(
  "functions",
  {
    title: "Functions",
    summary: "Code that runs when it is called, each function apart from all others",
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
      summary: "Deploy a function anew",
      description: `${CODE} What is left out stays. Invocations under way end on the version they began on.`,
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
      beyond: true,
      id: "listFunctionVersions",
      http: "GET /v1/functions/{id}/versions",
      summary: "List the versions of a function, newest first",
      description: "The newest 20 are kept.",
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
        "The body is the function's event. A function that fails or runs out of time is an answer too: `status` tells. " +
        "With `?mode=async` or `Prefer: respond-async` the reply is 202 at once, and an invocation that fails is tried " +
        "twice more, after one and after two minutes.",
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
      description: "The newest 10,000 are kept, for seven days.",
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
      beyond: true,
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
      beyond: true,
      id: "retryFunctionInvocation",
      http: "POST /v1/functions/{id}/invocations/{invocation_id}/retry",
      summary: "Try an asynchronous invocation that failed for good once more",
      params: OneInvocation,
      replies: { 202: Queued },
      faults: ["function_not_found", "invocation_not_found", "invalid_state_transition"],
    },
    logs: {
      id: "getFunctionLogs",
      http: "GET /v1/functions/{id}/logs",
      summary: "Read what a function printed",
      description:
        "The newest lines, oldest of them first. With `after`, the `cursor` of the page before, what came since. " +
        "Lines are kept for seven days; of one invocation 1,000 lines and 64 KiB.",
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
