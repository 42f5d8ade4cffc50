import type { Clock } from "./clock.ts"
import { anonymous, type Incoming } from "./exchange.ts"
import { type Fault, isFault } from "./fault.ts"
import type { Credentials } from "./needs.ts"
import { principalOf } from "./stages/authenticate.ts"
import type { Limits } from "./stages/limit.ts"

export interface Counted {
  /** The state of the caller's limit. */
  readonly headers: Record<string, string>
  /** Set once the caller is over it. */
  readonly refusal: Fault | undefined
}

export type CountUnrouted = (incoming: Pick<Incoming, "header" | "ip">) => Promise<Counted>

/** Counts requests that reach no operation like those that do, so that looking for routes or credentials is not free. */
export const createUnroutedCounter = (needs: {
  readonly credentials: Credentials
  readonly limits: Limits
  readonly clock: Clock
}): CountUnrouted => {
  const { credentials, limits, clock } = needs
  return async incoming => {
    const headers: Record<string, string> = {}
    const nowMs = clock.now()
    try {
      const principal = (await principalOf(credentials, incoming, nowMs)) ?? anonymous
      const { organization } = principal
      return { headers, refusal: limits.count({ headers, nowMs, incoming, principal, organization }) }
    } catch (error) {
      if (!isFault(error)) throw error
      return { headers, refusal: limits.failedCredential({ headers, nowMs, incoming }) }
    }
  }
}
