/** The messages in a client's stream. */
import { SQLSTATE, WireRefusal } from "../error-response.ts"

/** A message's type and length. */
export const HEAD_BYTES = 5
/**
 * Messages up to this size are held until they are whole, so that a client which stalls within one has no server
 * connection for it; so many bytes a client may keep here. Larger ones pass in parts, at a pace (`pace.ts`).
 */
export const WHOLE_BYTES_MAX = 64 * 1024

export const FRONT = {
  bind: 0x42,
  close: 0x43,
  describe: 0x44,
  execute: 0x45,
  functionCall: 0x46,
  flush: 0x48,
  parse: 0x50,
  query: 0x51,
  sync: 0x53,
  terminate: 0x58,
  copyDone: 0x63,
  copyData: 0x64,
  copyFail: 0x66,
} as const

/** Outside of a COPY and of a batch these mean nothing. */
const MEANINGLESS: ReadonlySet<number> = new Set([
  FRONT.copyData,
  FRONT.copyDone,
  FRONT.copyFail,
  FRONT.flush,
])

export interface ClientFrame {
  readonly type: number
  readonly at: number
  readonly end: number
  /** With its head. */
  readonly length: number
  /** All of it has come. */
  readonly isWhole: boolean
}

/** The message that begins there, of which at least the head has come. */
export const frameAt = (bytes: Buffer, at: number): ClientFrame => {
  const length = 1 + bytes.readInt32BE(at + 1)
  if (length < HEAD_BYTES)
    throw new WireRefusal({ sqlstate: SQLSTATE.protocolViolation, message: "invalid message length" })
  const end = at + length
  return { type: bytes.readUInt8(at), at, end, length, isWhole: end <= bytes.length }
}

/** What a client without a server connection wants by its next message. */
export type Wish =
  /** A connection: the message begins at `at`. */
  | { readonly kind: "server"; readonly at: number }
  /** Nothing before more of it has come. */
  | { readonly kind: "nothing"; readonly at: number }
  | { readonly kind: "goodbye" }

/** Passes over messages that need no server. */
export const wishOf = (bytes: Buffer): Wish => {
  let at = 0
  while (bytes.length - at >= HEAD_BYTES) {
    const { type, end, length, isWhole } = frameAt(bytes, at)
    if (type === FRONT.terminate) return { kind: "goodbye" }
    if (!isWhole && length <= WHOLE_BYTES_MAX) return { kind: "nothing", at }
    if (!isWhole || !MEANINGLESS.has(type)) return { kind: "server", at }
    at = end
  }
  return { kind: "nothing", at }
}
