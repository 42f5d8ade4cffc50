import { fault } from "../../kernel/fault.ts"
import { PortError } from "../../ports/port-error.ts"

/** An engine that is restarted, or an index that makes room, is back within seconds. */
const RETRY_AFTER = { headers: { "retry-after": "2" } }

export const storeUnavailable = (internal?: unknown) =>
  fault("vector_store_unavailable", undefined, { internal, ...RETRY_AFTER })

/** Asks the index, and turns its ways of saying no into what a caller understands. */
export const served = async <Result>(ask: () => Promise<Result>): Promise<Result> => {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof PortError)) throw error
    if (error.kind !== "refused") throw storeUnavailable(error)
    const reason = "the index cannot hold this collection; SVC_VECTORS_MEMORY_MB sets its memory"
    throw fault("service_unavailable", { reason }, { internal: error })
  }
}
