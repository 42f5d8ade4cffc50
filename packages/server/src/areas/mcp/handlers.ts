import { areas } from "@svc/contract"
import { fault } from "../../kernel/fault.ts"
import { implement } from "../../kernel/implement.ts"
import type { Endpoint } from "./endpoint.ts"
import type { Toolbox } from "./toolbox.ts"

export interface McpHandlerNeeds {
  readonly toolbox: Toolbox
  readonly endpoint: Endpoint
  readonly isOwnOrigin: (origin: string) => boolean
}

/** A client of the protocol asks whether there is a stream of messages; here every message is a request of its own. */
const asksForStream = (accept = "*/*"): boolean =>
  accept.split(",").every(type => type.trim().startsWith("text/event-stream"))

export const mcpHandlers = implement(areas.mcp, ({ toolbox, endpoint, isOwnOrigin }: McpHandlerNeeds) => ({
  list(input, call) {
    if (asksForStream(call.header("accept")))
      throw fault("method_not_allowed", { methods: "POST" }, { headers: { allow: "POST" } })
    return toolbox.list(call, input)
  },

  call: ({ name, arguments: given = {} }, call) => toolbox.call(name, given, call),

  // The protocol asks servers to refuse foreign pages, which a name that leads here may have loaded (DNS rebinding).
  message({ toolsets, ...message }, call) {
    const origin = call.header("origin")
    if (origin !== undefined && !isOwnOrigin(origin)) throw fault("csrf_failed")
    return endpoint.answer(message, call, toolsets)
  },
}))
