import { createCaller } from "./caller.ts"
import { createEndpoint } from "./endpoint.ts"
import { mcpHandlers } from "./handlers.ts"
import { createHelpers } from "./helpers.ts"
import type { Needs } from "./needs.ts"
import { createToolbox } from "./toolbox.ts"

export const start = ({ baseUrl, clock, inProcess, isOwnOrigin }: Needs) => {
  const caller = createCaller({ inProcess, baseUrl })
  const toolbox = createToolbox(caller, createHelpers({ caller, inProcess, clock }))
  const endpoint = createEndpoint(toolbox)
  return {
    operations: mcpHandlers({ toolbox, endpoint, isOwnOrigin }),
    [Symbol.asyncDispose]: () => endpoint[Symbol.asyncDispose](),
  }
}
