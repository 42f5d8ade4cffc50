/** All tools of a caller: lists and calls them. */
import { MCP_TOOLS_PER_PAGE } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import { isFault } from "../../kernel/fault.ts"
import type { Caller } from "./caller.ts"
import { type Helper, operationNamed } from "./helpers.ts"
import { errorResult, type ToolResult } from "./results.ts"
import { definitionFor, type ToolDefinition } from "./tools.ts"
import { toolsFor } from "./toolsets.ts"

export interface ToolPage {
  readonly tools: ToolDefinition[]
  readonly nextCursor?: string
}

export interface Toolbox {
  list(
    call: Pick<Call, "principal">,
    wanted: { toolsets?: string | undefined; cursor?: string | undefined },
  ): ToolPage
  /** Throws where there is no such tool, or the caller may not use it. */
  call(name: string, given: Readonly<Record<string, unknown>>, call: Call): Promise<ToolResult>
}

export const createToolbox = (caller: Caller, helpers: ReadonlyMap<string, Helper>): Toolbox => ({
  list({ principal }, { toolsets, cursor }) {
    const all = [
      ...[...helpers.values()].map(({ definition }) => definition),
      ...toolsFor(principal, toolsets).map(([name, operation]) => definitionFor(name, operation)),
    ]
    // A cursor that names no tool is of a list that has changed: it begins anew.
    const from = all.findIndex(({ name }) => name === cursor) + 1
    const tools = all.slice(from, from + MCP_TOOLS_PER_PAGE)
    const last = tools.at(-1)
    return from + tools.length < all.length && last ? { tools, nextCursor: last.name } : { tools }
  },

  async call(name, given, call) {
    try {
      const helper = helpers.get(name)
      return await (helper ? helper.run(given, call) : caller.run(operationNamed(name), given, call))
    } catch (error) {
      // The model wrote the arguments, so it is told what is wrong with them.
      if (isFault(error, "invalid_parameter")) return errorResult(`${error.publicCode}: ${error.message}`)
      throw error
    }
  },
})
