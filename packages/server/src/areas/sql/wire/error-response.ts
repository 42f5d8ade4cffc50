/** A connection that is turned away: what the client's driver shows, with its SQLSTATE. */
export class WireRefusal extends Error {
  override readonly name = "WireRefusal"
  readonly sqlstate: string
  readonly hint: string | undefined

  constructor({ sqlstate, message, hint }: { sqlstate: string; message: string; hint?: string | undefined }) {
    super(message)
    this.sqlstate = sqlstate
    this.hint = hint
  }
}

/** The SQLSTATEs the proxy itself uses (PostgreSQL's appendix A). */
export const SQLSTATE = {
  protocolViolation: "08P01",
  featureNotSupported: "0A000",
  notAuthorized: "28000",
  wrongPassword: "28P01",
  tooManyConnections: "53300",
  programLimitExceeded: "54000",
  adminShutdown: "57P01",
  cannotConnectNow: "57P03",
  idleSessionTimeout: "57P05",
} as const

/** One text for every cause, the same as PostgreSQL's own. */
export const wrongPassword = (user: string): WireRefusal =>
  new WireRefusal({
    sqlstate: SQLSTATE.wrongPassword,
    message: `password authentication failed for user "${user}"`,
  })

/** What a client gets whose server goes away; the text is PostgreSQL's, which drivers know to reconnect on. */
export const terminated = (): WireRefusal =>
  new WireRefusal({
    sqlstate: SQLSTATE.adminShutdown,
    message: "terminating connection due to administrator command",
  })

const field = (type: string, value: string): string => `${type}${value.replaceAll("\0", "")}\0`

/** An ErrorResponse of severity FATAL, after which the sender closes. */
export const errorResponse = ({ sqlstate, message, hint }: WireRefusal): Buffer => {
  const fields = [
    field("S", "FATAL"),
    field("V", "FATAL"),
    field("C", sqlstate),
    field("M", message),
    hint === undefined ? "" : field("H", hint),
    "\0",
  ].join("")
  const head = Buffer.alloc(5, "E")
  head.writeInt32BE(Buffer.byteLength(fields) + 4, 1)
  return Buffer.concat([head, Buffer.from(fields)])
}

/** What matters of an ErrorResponse that passes by. A field that was cut off is left out. */
export interface ErrorFields {
  readonly severity: string
  readonly sqlstate: string
  readonly message: string
}

/** Reads the fields of an ErrorResponse's payload `bytes[start, end)`. */
export const errorFields = (bytes: Buffer, start: number, end: number): ErrorFields => {
  let severity = ""
  let sqlstate = ""
  let message = ""
  for (let at = start; at < end && bytes[at] !== 0; ) {
    const stop = bytes.indexOf(0, at)
    if (stop < 0 || stop >= end) break
    const value = bytes.toString("utf8", at + 1, stop)
    const type = bytes.toString("latin1", at, at + 1)
    // S is translated by the server's language, V is not.
    if (type === "V") severity = value
    else if (type === "C") sqlstate = value
    else if (type === "M") message = value
    at = stop + 1
  }
  return { severity, sqlstate, message }
}
