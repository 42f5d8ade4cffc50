import { invalidParameter, serviceUnavailable, translatePortErrors } from "../../core/port-faults.ts"

const unavailable = serviceUnavailable("the key-value engine does not respond")

export const callEngine = translatePortErrors({
  unavailable,
  refused: invalidParameter("the key-value engine cannot hold this"),
})

export const callEngineToList = translatePortErrors({
  unavailable,
  refused: invalidParameter("cursor is not one that a list gave, or pattern has more than 1,024 bytes"),
})
