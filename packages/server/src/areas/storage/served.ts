import { fault } from "../../kernel/fault.ts"
import { PortError } from "../../ports/port-error.ts"

/** An engine that is restarted or fails over is back within seconds. */
const RETRY_AFTER_SECONDS = 2

/** Asks the blob store, and turns its ways of saying no into what a caller understands. */
export const served = async <Result>(ask: () => Promise<Result>): Promise<Result> => {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof PortError) || error.kind !== "unavailable") throw error
    throw fault(
      "service_unavailable",
      { reason: "the store of objects does not answer" },
      { internal: error, headers: { "retry-after": String(RETRY_AFTER_SECONDS) } },
    )
  }
}
