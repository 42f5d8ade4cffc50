/** What a pool reads of a server's messages. */
import { errorFields, WireRefusal } from "../error-response.ts"
import type { Parameters } from "./parameters.ts"

/** What a server tells of a session that begins. */
export interface ServerSession {
  readonly parameters: Parameters
  /** Cancels what runs in it. */
  readonly key: string
}

export const refusalOf = (payload: Buffer): WireRefusal => {
  const { sqlstate, message: text } = errorFields(payload, 0, payload.length)
  return new WireRefusal({ sqlstate, message: text })
}

export const readParameter = (payload: Buffer): readonly [string, string] => {
  const [name = "", value = ""] = payload.toString("latin1").split("\0")
  return [name, value]
}
