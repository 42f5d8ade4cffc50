/** Valid inputs of the operations of MCP, for the tests that hold for every operation. */
import type { Sample } from "../../../testing/sample-world.ts"

export const samples = {
  "mcp.call": async () => ({ name: "search_tools", arguments: { query: "sql" } }),
  "mcp.message": async () => ({ jsonrpc: "2.0" as const, id: 1, method: "ping" }),
} satisfies Readonly<Record<string, Sample>>
