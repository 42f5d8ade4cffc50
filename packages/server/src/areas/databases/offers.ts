/** What other areas may ask of this one: types and tokens alone. */
import type { Sessions } from "../../core/postgres/sessions.ts"
import type { Target, TargetInput } from "../../core/postgres/target.ts"
import type { Call } from "../../kernel/call.ts"

export interface Targets {
  /** Throws `database_not_found`, `branch_not_found` or `database_not_provisioned`; another tenant's answers like none. */
  of(call: Call, input: TargetInput): Promise<Target>
}

/** The branches that calls name, and sessions in their databases. */
export interface DatabaseAccess {
  readonly targets: Targets
  readonly sessions: Sessions
}
