import { translatePortErrors } from "../../core/port-faults.ts"
import { fault } from "../../kernel/fault.ts"

/** An engine that is restarted, or an index that makes room, is back within seconds. */
const RETRY_AFTER = { headers: { "retry-after": "2" } }

export const storeUnavailable = (internal?: unknown) =>
  fault("vector_store_unavailable", undefined, { internal, ...RETRY_AFTER })

const CANNOT_HOLD = "the index cannot hold this collection; SVC_VECTORS_MEMORY_MB sets its memory"

export const callIndex = translatePortErrors({
  unavailable: storeUnavailable,
  missing: storeUnavailable,
  refused: error => fault("service_unavailable", { reason: CANNOT_HOLD }, { internal: error }),
})
