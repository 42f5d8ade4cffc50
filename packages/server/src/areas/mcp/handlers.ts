import { areas } from "@svc/contract"
import { fault } from "../../kernel/fault.ts"
import { implement } from "../../kernel/implement.ts"
import type { Toolbox } from "./toolbox.ts"

export interface McpHandlerNeeds {
  readonly toolbox: Toolbox
}

/** A client of the protocol asks whether there is a stream of messages; here every message is a request of its own. */
const asksForStream = (accept = "*/*"): boolean =>
  accept.split(",").every(type => type.trim().startsWith("text/event-stream"))

export const mcpHandlers = implement(areas.mcp, ({ toolbox }: McpHandlerNeeds) => ({
  list(input, call) {
    if (asksForStream(call.header("accept")))
      throw fault("method_not_allowed", { methods: "POST" }, { headers: { allow: "POST" } })
    return toolbox.list(call, input)
  },

  call: ({ name, arguments: given = {} }, call) => toolbox.call(name, given, call),
}))
