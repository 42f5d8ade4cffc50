import { serviceUnavailable, translatePortErrors } from "../../core/port-faults.ts"

export const callStore = translatePortErrors({
  unavailable: serviceUnavailable("the store of objects does not answer"),
})
