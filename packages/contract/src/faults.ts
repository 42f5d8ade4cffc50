import { credentialFaults, paymentFaults, permissionFaults } from "./faults/access.ts"
import { badInputFaults } from "./faults/bad-input.ts"
import { badRequestFaults } from "./faults/bad-request.ts"
import { notFoundFaults } from "./faults/not-found.ts"
import { oauthFaults } from "./faults/oauth.ts"
import { conflictFaults, limitFaults } from "./faults/refusals.ts"
import { serverSideFaults } from "./faults/server-side.ts"
import { type FaultSpec, fillText, type Placeholders } from "./faults/spec.ts"

export { type FaultSpec, type FaultStatus, faultStatuses } from "./faults/spec.ts"

/** Every error of the API. The table is closed: a code that is not here cannot be thrown. */
export const faults = {
  ...badRequestFaults,
  ...badInputFaults,
  ...credentialFaults,
  ...paymentFaults,
  ...permissionFaults,
  ...notFoundFaults,
  ...conflictFaults,
  ...limitFaults,
  ...serverSideFaults,
  ...oauthFaults,
} as const satisfies Record<string, FaultSpec>

export type FaultCode = keyof typeof faults

export const faultCodes = Object.keys(faults) as readonly FaultCode[]

/** The name of a value that some text can contain. */
export type FaultParam = Placeholders<(typeof faults)[FaultCode]["text"]>

/** The public values that the text of a fault can contain; an unknown one leaves its part of the text out. */
export type FaultParams<Code extends FaultCode = FaultCode> = {
  readonly [Name in Placeholders<(typeof faults)[Code]["text"]>]?: string | number | undefined
}

/** The entry of a code, with its optional fields readable whichever code it is. */
export const faultSpec = (code: FaultCode): FaultSpec => faults[code]

/** The code the caller sees in the reply, in `docs_url` and as the name of the error's page. */
export const wireCode = (code: FaultCode): string => faultSpec(code).code ?? code

/** The public text of a fault with what is known filled in: `missing scope: kv:write`, or only `missing scope`. */
export const faultText = <Code extends FaultCode>(code: Code, params?: FaultParams<Code>): string =>
  fillText(faults[code].text, params ?? {})
