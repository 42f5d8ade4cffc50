import { invalidParameter, serviceUnavailable, translatePortErrors } from "../../core/port-faults.ts"

const unavailable = serviceUnavailable("the search engine does not respond")

export const callEngine = translatePortErrors({
  unavailable,
  missing: unavailable,
  refused: invalidParameter("the search engine cannot hold this"),
})
