/**
 * The three ways in which a port says no. The area that called picks the fault its caller sees.
 *
 * - `missing`: what the call names does not exist.
 * - `refused`: the call itself cannot be served; repeating it changes nothing.
 * - `unavailable`: the engine cannot serve it now; repeating it later may.
 */
export type PortErrorKind = "missing" | "refused" | "unavailable"

/**
 * The only error that leaves a driver. Its message goes to the log, never to a reply, and holds no secret.
 */
export class PortError extends Error {
  override readonly name = "PortError"
  readonly kind: PortErrorKind

  constructor(kind: PortErrorKind, message: string, cause?: unknown) {
    super(message, { cause })
    this.kind = kind
  }
}
