import { type FaultCode, faults, faultText, wireCode } from "@svc/contract"

export interface InvalidField {
  /** Where the value travelled, as `body.key` or `query.limit`. */
  readonly location: string
  readonly message: string
}

/** A field that has a code of its own for values it does not take. */
export interface RefusedField extends InvalidField {
  readonly code?: FaultCode
}

/** Finds addresses of other processes of the platform, best first. */
export type Elsewhere = () => Promise<readonly URL[]>

interface FaultDetails {
  /** Values for the placeholders of the public text. They reach the caller. */
  readonly params?: Readonly<Record<string, string | number>>
  /** What the operator needs to know. It reaches the log and never a reply. */
  readonly internal?: unknown
  readonly errors?: readonly InvalidField[]
  /** Fields beside the standard ones of the error's body, as `{ details: … }`; in place of them where an outside protocol says so. */
  readonly body?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
  /** Who may do what this process cannot. Nothing was done here. */
  readonly elsewhere?: Elsewhere
}

/** The one error that handlers, stages and stores throw. Anything else becomes `internal_error`. */
export class Fault extends Error {
  override readonly name = "Fault"
  readonly code: FaultCode
  readonly details: FaultDetails

  constructor(code: FaultCode, details: FaultDetails = {}) {
    super(faultText(code, details.params), { cause: details.internal })
    this.code = code
    this.details = details
  }

  get status(): number {
    return faults[this.code].status
  }

  /** The code on the wire: two entries of the table may share one, with different texts. */
  get publicCode(): string {
    return wireCode(this.code)
  }
}

export const fault = (
  code: FaultCode,
  params?: Readonly<Record<string, string | number>>,
  details?: Omit<FaultDetails, "params">,
): Fault => new Fault(code, params ? { ...details, params } : details)

export const isFault = (error: unknown, code?: FaultCode): error is Fault =>
  error instanceof Fault && (code === undefined || error.code === code)
