import { serviceUnavailable, translatePortErrors } from "../../core/port-faults.ts"
import { fault } from "../../kernel/fault.ts"

const unavailable = serviceUnavailable("the database cannot be started now")

export const callEngine = translatePortErrors({
  unavailable,
  missing: unavailable,
  refused: error => fault("recovery_point_invalid", { reason: error.message }, { internal: error }),
})
