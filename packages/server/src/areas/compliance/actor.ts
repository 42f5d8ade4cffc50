import type { Call } from "../../kernel/call.ts"

const ACTORS = { key: "api_key", session: "user", end_user: "end_user", anonymous: "user" } as const

/** Who calls, as events and requests keep it. */
export const actorOf = ({ principal: { type, id, name } }: Call) => ({ type: ACTORS[type], id, name })
