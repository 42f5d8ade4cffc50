/** What other areas may ask of this one: types and tokens alone. */
import { offerToken } from "../../kernel/token.ts"

/** Calls functions of a project. */
export interface FunctionCaller {
  /** Throws `function_not_found`. */
  check(of: FunctionOf): Promise<void>
  /** 2xx is a success, 500 a failure of the function, 504 a timeout, 429 a throttle, 404 no such function. */
  invoke(
    of: FunctionOf,
    call: {
      readonly body: string
      readonly timeoutMs: number
      readonly signal: AbortSignal
      readonly trigger: "event" | "cron"
    },
  ): Promise<{ readonly status: number; readonly body: string }>
}

export interface FunctionOf {
  readonly organizationId: string
  readonly projectId: string
  readonly name: string
}

export const functionCaller = offerToken<FunctionCaller>("functions")
