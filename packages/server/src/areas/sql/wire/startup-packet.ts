/** The packets a client may begin with, which carry no type byte (PostgreSQL manual, "Message Formats"). */
import { SQLSTATE, WireRefusal } from "./error-response.ts"

/** PostgreSQL's own bound (MAX_STARTUP_PACKET_LENGTH). */
export const STARTUP_BYTES_MAX = 10_000
const HEAD_BYTES = 8
/** A process id and at least one byte of key; protocol 3.2 allows 256. */
const CANCEL_BYTES_MIN = HEAD_BYTES + 4 + 1
const CANCEL_BYTES_MAX = HEAD_BYTES + 4 + 256

const CANCEL_REQUEST = 80_877_102
const SSL_REQUEST = 80_877_103
const GSSENC_REQUEST = 80_877_104
const MAJOR = 3

/** Names and values as latin1 text, a character a byte, so that what is not changed goes on as it came. */
export type StartupParameters = ReadonlyMap<string, string>

export type StartupPacket =
  | { readonly kind: "tls" }
  | { readonly kind: "gss" }
  /** `key` is the process id and the secret, whole, as latin1 text. */
  | { readonly kind: "cancel"; readonly key: string }
  | { readonly kind: "startup"; readonly protocol: number; readonly parameters: StartupParameters }

/** The length that the first four bytes announce, their own included; undefined when no packet can have it. */
export const startupLength = (head: Buffer): number | undefined => {
  const length = head.readInt32BE(0)
  return length >= HEAD_BYTES && length <= STARTUP_BYTES_MAX ? length : undefined
}

const violation = (message: string): WireRefusal =>
  new WireRefusal({ sqlstate: SQLSTATE.protocolViolation, message })

/** Reads a whole packet, its length included. Throws a `WireRefusal` when it is none that PostgreSQL would take. */
export const parseStartup = (packet: Buffer): StartupPacket => {
  const code = packet.readInt32BE(4)
  if (code === SSL_REQUEST && packet.length === HEAD_BYTES) return { kind: "tls" }
  if (code === GSSENC_REQUEST && packet.length === HEAD_BYTES) return { kind: "gss" }
  if (code === CANCEL_REQUEST) {
    if (packet.length < CANCEL_BYTES_MIN || packet.length > CANCEL_BYTES_MAX)
      throw violation("invalid length of cancel request packet")
    return { kind: "cancel", key: packet.toString("latin1", HEAD_BYTES) }
  }
  const major = packet.readUInt16BE(4)
  if (major !== MAJOR) {
    throw new WireRefusal({
      sqlstate: SQLSTATE.featureNotSupported,
      message: `unsupported frontend protocol ${major}.${packet.readUInt16BE(6)}: server supports 3.0 to 3.2`,
    })
  }
  return { kind: "startup", protocol: code, parameters: parseParameters(packet) }
}

/** A name that comes twice counts with its last value, as in PostgreSQL; only that one goes on. */
const parseParameters = (packet: Buffer): StartupParameters => {
  const parameters = new Map<string, string>()
  let at = HEAD_BYTES
  const text = (): string => {
    const end = packet.indexOf(0, at)
    if (end < 0) throw violation("invalid startup packet layout: expected terminator as last byte")
    const value = packet.toString("latin1", at, end)
    at = end + 1
    return value
  }
  for (let name = text(); name !== ""; name = text()) parameters.set(name, text())
  if (at !== packet.length) throw violation("invalid startup packet layout: expected terminator as last byte")
  return parameters
}

export const encodeStartup = (protocol: number, parameters: StartupParameters): Buffer => {
  const text = [...parameters].map(([name, value]) => `${name}\0${value}\0`).join("")
  const packet = Buffer.alloc(HEAD_BYTES + text.length + 1)
  packet.writeInt32BE(packet.length, 0)
  packet.writeInt32BE(protocol, 4)
  packet.write(text, HEAD_BYTES, "latin1")
  return packet
}

export const encodeCancel = (key: string): Buffer => {
  const packet = Buffer.alloc(HEAD_BYTES + key.length)
  packet.writeInt32BE(packet.length, 0)
  packet.writeInt32BE(CANCEL_REQUEST, 4)
  packet.write(key, HEAD_BYTES, "latin1")
  return packet
}

export const encodeTlsRequest = (): Buffer => {
  const packet = Buffer.alloc(HEAD_BYTES)
  packet.writeInt32BE(HEAD_BYTES, 0)
  packet.writeInt32BE(SSL_REQUEST, 4)
  return packet
}
