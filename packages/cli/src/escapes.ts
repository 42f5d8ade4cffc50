const NEWLINES: ReadonlySet<number> = new Set([0x0a, 0x0d])
const TILDE = 0x7e
const DOT = 0x2e

/** What is left of typed bytes, and whether its user wants to leave. */
export interface Typed {
  readonly bytes: Uint8Array
  readonly leaves: boolean
}

/** `~.` at the beginning of a line leaves, as with ssh; `~~` there is one tilde. */
export const createEscapes = (): ((typed: Uint8Array) => Typed) => {
  let isLineStart = true
  let isTilde = false
  return typed => {
    const kept: number[] = []
    for (const byte of typed) {
      if (isTilde) {
        isTilde = false
        if (byte === DOT) return { bytes: Uint8Array.from(kept), leaves: true }
        kept.push(TILDE)
        if (byte !== TILDE) kept.push(byte)
      } else if (isLineStart && byte === TILDE) isTilde = true
      else kept.push(byte)
      isLineStart = NEWLINES.has(byte)
    }
    return { bytes: Uint8Array.from(kept), leaves: false }
  }
}
