import { createEngines } from "./engines.ts"
import { aiTextHandlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"

export const start = ({ models }: Needs) => {
  const engines = createEngines()
  return {
    operations: aiTextHandlers({ models, engines }),
    [Symbol.asyncDispose]: () => engines[Symbol.asyncDispose](),
  }
}
