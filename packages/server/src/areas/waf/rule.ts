import type { WafAction, WafTarget } from "@svc/contract"
import type { Pattern } from "./patterns.ts"

/** A rule that is ready to be asked. */
export interface Rule {
  readonly id: string
  readonly name: string
  readonly action: WafAction
  readonly targets: readonly WafTarget[]
  readonly pattern: Pattern
  /** Undefined: every load balancer of the project. */
  readonly loadBalancerId: string | undefined
}
