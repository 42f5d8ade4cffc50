import { fault } from "../../kernel/fault.ts"
import { PortError } from "../../ports/port-error.ts"

/** An engine that is restarted or fails over is back within seconds. */
const RETRY_AFTER_SECONDS = 2

/** Turns the engine's ways of saying no into what a caller understands: 400 for what it will not serve, else 503. */
export const served = async <Result>(ask: () => Promise<Result>): Promise<Result> => {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof PortError)) throw error
    if (error.kind === "refused")
      throw fault("invalid_parameter", { reason: "the search engine cannot hold this" }, { internal: error })
    throw fault(
      "service_unavailable",
      { reason: "the search engine does not answer" },
      { internal: error, headers: { "retry-after": String(RETRY_AFTER_SECONDS) } },
    )
  }
}
