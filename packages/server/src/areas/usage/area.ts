import { usageHandlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"

export const start = ({ database, usePrices }: Needs) => ({
  operations: usageHandlers({ database, usePrices }),
})
