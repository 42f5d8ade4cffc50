import { area, MIB, T } from "./dsl.ts"

/** Tools in one page of a list. */
export const MCP_TOOLS_PER_PAGE = 100

const ARGUMENTS_BYTES_MAX = 8 * MIB
const NAME_LENGTH_MAX = 128

const Toolsets = T.Optional(
  T.String({
    maxLength: 1000,
    description:
      "Names of areas between commas, such as `kv,storage`, or `all`: which tools are listed. The few that agents use most when left out",
  }),
)

const Hints = T.Object(
  {
    title: T.String(),
    readOnlyHint: T.Boolean({ description: "It changes nothing" }),
    destructiveHint: T.Boolean({ description: "It may remove or overwrite what is there" }),
    idempotentHint: T.Boolean({ description: "Repeating it has no further effect" }),
  },
  { description: "What the tool does to state, computed from the operation" },
)

const open = { additionalProperties: true } as const

const Tool = T.Object({
  name: T.String({ description: "The operationId in snake case, such as `kv_get`" }),
  title: T.String(),
  description: T.String(),
  inputSchema: T.Object({}, { ...open, description: "JSON Schema of the arguments" }),
  annotations: Hints,
})

const ToolResult = T.Object({
  content: T.Array(
    T.Object(
      {
        type: T.String({ description: "`text`, `image` or `resource`" }),
        text: T.Optional(T.String({ description: "Of `text`: the text" })),
      },
      open,
    ),
    { description: "What a model reads of the result" },
  ),
  structuredContent: T.Optional(
    T.Object({}, { ...open, description: "The result as JSON, where it is JSON and was not cut" }),
  ),
  isError: T.Boolean({ description: "True when the tool refused or failed" }),
})

export const mcp = area(
  "mcp",
  {
    title: "MCP",
    summary: "Tools for agents: the operations that a key admits, by the Model Context Protocol",
    project: "required",
    belongs: "caller",
    envelope: "bare",
  },
  {
    list: {
      id: "listMcpTools",
      http: "GET /api/v1/mcp",
      summary: "List the tools that the caller may use",
      scope: "any",
      effect: "read",
      query: T.Object({
        toolsets: Toolsets,
        cursor: T.Optional(
          T.String({ maxLength: NAME_LENGTH_MAX, description: "The `nextCursor` of the page before" }),
        ),
      }),
      replies: {
        200: T.Object({
          tools: T.Array(Tool, { description: `At most ${MCP_TOOLS_PER_PAGE}` }),
          nextCursor: T.Optional(T.String({ description: "For the next page, where there is one" })),
        }),
      },
      faults: ["invalid_parameter", "method_not_allowed"],
    },
    call: {
      id: "callMcpTool",
      http: "POST /api/v1/mcp/call",
      summary: "Call a tool",
      description:
        "The named operation is called as the caller would call it: its scopes, limits, approvals and audit apply. What it refuses or fails at is a result with `isError: true`.",
      scope: "any",
      effect: "read-or-write",
      idempotency: "none",
      body: T.Object({
        name: T.String({
          minLength: 1,
          maxLength: NAME_LENGTH_MAX,
          description: "A tool's name, listed or not",
        }),
        arguments: T.Optional(
          T.Record(T.String(), T.Unknown(), { description: "The input of the operation, as one object" }),
        ),
      }),
      bodyBytesMax: ARGUMENTS_BYTES_MAX,
      // The operation that is called refuses what it cannot store.
      nulFields: ["arguments"],
      replies: { 200: ToolResult },
      faults: ["tool_not_found", "missing_scope", "key_read_only", "organization_reach_required"],
      example: { name: "search_tools", arguments: { query: "sql" } },
    },
    message: {
      id: "sendMcpMessage",
      http: "POST /api/v1/mcp",
      summary: "Send a message of the Model Context Protocol",
      description:
        "Streamable HTTP without sessions, of the revisions 2026-07-28 and 2025-11-25 and those before. Clients of the protocol call it; JSON-RPC errors come as the protocol has them. Batches are refused.",
      scope: "any",
      effect: "read-or-write",
      idempotency: "none",
      extension: true,
      query: T.Object({ toolsets: Toolsets }),
      body: T.Object(
        {
          jsonrpc: T.Literal("2.0", { description: "Always `2.0`" }),
          method: T.String({ maxLength: NAME_LENGTH_MAX, description: "Such as `tools/call`" }),
        },
        open,
      ),
      bodyBytesMax: ARGUMENTS_BYTES_MAX,
      // The operation that is called refuses what it cannot store.
      nulFields: ["params"],
      replies: { 200: T.Object({}, { ...open, description: "A JSON-RPC response" }), 202: null },
      faults: ["invalid_parameter", "unsupported_media_type"],
      example: { jsonrpc: "2.0", id: 1, method: "ping" },
    },
  },
)
