import { serviceUnavailable, translatePortErrors } from "../../core/port-faults.ts"

export const callBlobs = translatePortErrors({
  unavailable: serviceUnavailable("the store of files does not respond"),
})
