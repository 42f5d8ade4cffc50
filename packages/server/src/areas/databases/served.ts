import type { FaultCode } from "@svc/contract"
import { fault } from "../../kernel/fault.ts"
import { PortError } from "../../ports/port-error.ts"

/** A server that waits for its turn to start is there within seconds. */
const RETRY_AFTER_SECONDS = 2

/**
 * Asks the engine, and turns its ways of saying no into what a caller understands: 503 when it cannot serve now, and
 * `refusal` when it never will serve this call.
 */
export const served = async <Result>(
  ask: () => Promise<Result>,
  refusal: FaultCode = "recovery_point_invalid",
): Promise<Result> => {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof PortError)) throw error
    if (error.kind === "refused") throw fault(refusal, { reason: error.message }, { internal: error })
    throw fault(
      "service_unavailable",
      { reason: "the database cannot be started now" },
      { internal: error, headers: { "retry-after": String(RETRY_AFTER_SECONDS) } },
    )
  }
}
