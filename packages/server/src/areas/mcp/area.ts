import { createCaller } from "./caller.ts"
import { mcpHandlers } from "./handlers.ts"
import { createHelpers } from "./helpers.ts"
import type { Needs } from "./needs.ts"
import { createToolbox } from "./toolbox.ts"

export const start = ({ baseUrl, clock, inProcess }: Needs) => {
  const caller = createCaller({ inProcess, baseUrl })
  const toolbox = createToolbox(caller, createHelpers({ caller, inProcess, clock }))
  return { operations: mcpHandlers({ toolbox }) }
}
