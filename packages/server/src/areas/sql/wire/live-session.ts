import type { ActiveConnection } from "./activity.ts"
import type { WireRefusal } from "./error-response.ts"

/** A session that a branch's server works for. */
export interface LiveSession extends ActiveConnection {
  end(refusal: WireRefusal): void
}
