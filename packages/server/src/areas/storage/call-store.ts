import { serviceUnavailable, translatePortErrors } from "../../core/port-faults.ts"

export const callStore = translatePortErrors({
  unavailable: serviceUnavailable("the object store does not respond"),
})
