import type { Principal } from "../../kernel/call.ts"
import { isFault } from "../../kernel/fault.ts"
import { sessionToken } from "../../kernel/stages/authenticate.ts"
import type { Sessions } from "./sessions.ts"

/** Who is signed in to the browser that sends these cookies; undefined where nobody is. For pages that anyone may open. */
export type SignedIn = (cookies: string | undefined, now: Date) => Promise<Principal | undefined>

export const createSignedIn =
  (sessions: Sessions): SignedIn =>
  async (cookies, now) => {
    const token = sessionToken(cookies ?? "")
    if (token === undefined) return undefined
    try {
      return await sessions.find(token, undefined, undefined, now.getTime())
    } catch (error) {
      if (isFault(error, "session_expired")) return undefined
      throw error
    }
  }
