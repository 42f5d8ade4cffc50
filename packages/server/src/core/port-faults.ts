/** Turns the ways in which a port says no into faults of the API. */
import { type Fault, fault } from "../kernel/fault.ts"
import { PortError, type PortErrorKind } from "../ports/port-error.ts"

/** The fault for each kind of error; an error of a kind that is left out is thrown as it is. */
export type PortFaults = Partial<Record<PortErrorKind, (error: PortError) => Fault>>

/** Calls the port. A synchronous result stays synchronous. */
export interface CallPort {
  <Result>(call: () => Promise<Result>): Promise<Result>
  <Result>(call: () => Result | Promise<Result>): Result | Promise<Result>
}

export const translatePortErrors = (faults: PortFaults): CallPort => {
  const translate = (error: unknown): never => {
    const toFault = error instanceof PortError ? faults[error.kind] : undefined
    throw toFault ? toFault(error as PortError) : error
  }
  const callPort = <Result>(call: () => Result | Promise<Result>): Result | Promise<Result> => {
    try {
      const result = call()
      return result instanceof Promise ? result.catch(translate) : result
    } catch (error) {
      return translate(error)
    }
  }
  return callPort as CallPort
}

/** An engine that is restarted or fails over is back within seconds. */
const RETRY_AFTER = { "retry-after": "2" }

/** 503 with a time to repeat the call after. */
export const serviceUnavailable = (reason: string) => (error: PortError) =>
  fault("service_unavailable", { reason }, { internal: error, headers: RETRY_AFTER })

/** 400: the engine will never serve this call. */
export const invalidParameter = (reason: string) => (error: PortError) =>
  fault("invalid_parameter", { reason }, { internal: error })
