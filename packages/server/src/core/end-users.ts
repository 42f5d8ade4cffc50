import type { Principal } from "../kernel/call.ts"
import { fault } from "../kernel/fault.ts"
import type { Offer } from "../kernel/offer.ts"

/** What the area of end-user auth provides: it knows the keys that projects sign tokens with. */
export interface EndUserTokens {
  /** The principal of an access token. Throws `token_invalid`, `token_expired` and `user_banned`. */
  find(token: string, nowMs: number): Principal | Promise<Principal>
}

/** Loads the area with the first token. */
export const findEndUser = (endUsers: Offer<EndUserTokens>) => async (token: string, nowMs: number) => {
  const tokens = await endUsers.get()
  if (!tokens) throw fault("token_invalid")
  return tokens.find(token, nowMs)
}
