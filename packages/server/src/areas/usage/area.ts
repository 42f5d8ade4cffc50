import { usageHandlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"

export const start = ({ database }: Needs) => ({ operations: usageHandlers({ database }) })
