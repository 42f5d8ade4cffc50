import { oauthHandlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"

export const start = ({ baseUrl }: Needs) => ({ operations: oauthHandlers({ baseUrl }) })
