/**
 * A client's messages as its server connection gets them: names of prepared statements are those of the connection, and
 * a statement that the connection has not is prepared there first.
 */
import { SQLSTATE, WireRefusal } from "../error-response.ts"
import { message } from "../scram.ts"
import { type ClientFrame, FRONT, frameAt, HEAD_BYTES, WHOLE_BYTES_MAX } from "./client-frames.ts"
import type { Server } from "./server.ts"
import { createClientStatements, type Statement } from "./statements.ts"

/** Messages that are rewritten are kept whole up to this size. */
const REWRITTEN_BYTES_MAX = 1024 * 1024
const STATEMENT = 0x53
/** No statement has this name, so that the server refuses it in its own words. */
const UNKNOWN_PREFIX = "svc_unknown "

const NAMING: ReadonlySet<number> = new Set([FRONT.parse, FRONT.bind, FRONT.close, FRONT.describe])

const tooMuch = (what: string): WireRefusal =>
  new WireRefusal({ sqlstate: SQLSTATE.programLimitExceeded, message: `${what} for a pooled connection` })

const violation = (text: string): WireRefusal =>
  new WireRefusal({ sqlstate: SQLSTATE.protocolViolation, message: text })

/** A text up to its end byte; `next` is 0 when that has not come. */
const textAt = (bytes: Buffer, start: number, end: number): { value: string; next: number } => {
  const stop = bytes.indexOf(0, start)
  return stop < 0 || stop >= end
    ? { value: "", next: 0 }
    : { value: bytes.toString("latin1", start, stop), next: stop + 1 }
}

const nothing = () => undefined

const latin1 = (text: string): Buffer => Buffer.from(`${text}\0`, "latin1")

const parseMessage = (name: string, body: Buffer): Buffer => message("P", Buffer.concat([latin1(name), body]))
const closeMessage = (name: string): Buffer => message("C", Buffer.concat([Buffer.from("S"), latin1(name)]))

/** The statement without a name: servers keep it until the next one, and a client may use it in a later transaction. */
interface Unnamed {
  /** Undefined when it is too long to be kept. */
  readonly body: Buffer | undefined
  /** The server connection has it. */
  isThere: boolean
}

/** Where translated messages go. */
export interface Destination {
  readonly server: Server
  readonly send: (bytes: Buffer) => void
}

export class Translator {
  readonly #statements = createClientStatements()
  #unnamed: Unnamed | undefined
  /** Bytes that are to come of a message that passes in parts. */
  #passingBytes = 0

  /** In the middle of a message that passes in parts. */
  get isPassing(): boolean {
    return this.#passingBytes > 0
  }

  /**
   * Takes messages from the bytes, and returns how many of them are done with: of what is left, too little has come.
   * Throws a `WireRefusal` for what a pooled connection cannot have.
   */
  translate(bytes: Buffer, to: Destination): number {
    let at = Math.min(this.#passingBytes, bytes.length)
    this.#passingBytes -= at
    /** Where what passes as it is begins. */
    let from = 0
    const flush = () => {
      if (at > from) to.send(bytes.subarray(from, at))
      from = at
    }
    while (bytes.length - at >= HEAD_BYTES) {
      const frame = frameAt(bytes, at)
      if (frame.type === FRONT.terminate) {
        flush()
        return bytes.length
      }
      if (!frame.isWhole && frame.length <= WHOLE_BYTES_MAX) break
      const isNaming = NAMING.has(frame.type)
      if (isNaming) flush()
      const rest = isNaming ? this.#rename(bytes, frame, to) : at
      if (rest === undefined) break
      if (isNaming) from = rest
      this.#note(frame.type, to.server)
      this.#passingBytes = Math.max(0, frame.end - bytes.length)
      at = Math.min(frame.end, bytes.length)
    }
    flush()
    return at
  }

  /** The client has another connection now. */
  moved(): void {
    if (this.#unnamed) this.#unnamed.isThere = false
  }

  deallocated(): void {
    this.#statements.clear()
    this.#unnamed = undefined
  }

  /** What is noted of a message that the server gets. */
  #note(type: number, server: Server) {
    if (type === FRONT.query || type === FRONT.functionCall) {
      if (server.isUnsynced)
        throw violation(
          "a simple query within a batch of the extended protocol is not supported by the pooler",
        )
      // It takes the place of the statement without a name.
      this.#unnamed = undefined
      server.expected.push({ kind: "query" })
    } else if (type === FRONT.sync) {
      server.expected.push({ kind: "sync" })
      server.isUnsynced = false
    } else if (type === FRONT.execute) {
      server.copyEnded = false
      server.isUnsynced = true
    } else if (type === FRONT.copyDone || type === FRONT.copyFail) server.copyEnded = true
    else if (NAMING.has(type)) server.isUnsynced = true
  }

  /** Sends a message with its names changed; returns where the rest begins that passes as it is, undefined when too little has come. */
  #rename(bytes: Buffer, frame: ClientFrame, to: Destination): number | undefined {
    const { type, at, end, length, isWhole } = frame
    if (type === FRONT.bind) return this.#bind(bytes, frame, to)
    const isLong = !isWhole && length > REWRITTEN_BYTES_MAX
    if (isLong && bytes.length > at + HEAD_BYTES) {
      if (type !== FRONT.parse || bytes[at + HEAD_BYTES] !== 0) throw tooMuch("the statement is too long")
      // Without a name it need not be kept beyond the transaction.
      this.#unnamed = { body: undefined, isThere: true }
      to.server.expected.push({ kind: "parse", fate: "pass", failed: nothing })
      return at
    }
    if (!isWhole) return undefined
    const payload = bytes.subarray(at + HEAD_BYTES, end)
    if (type === FRONT.parse) this.#parse(payload, to)
    else if (type === FRONT.close) this.#close(payload, to)
    else this.#describe(payload, to)
    return end
  }

  #parse(payload: Buffer, to: Destination) {
    const { server, send } = to
    const { value: name, next } = textAt(payload, 0, payload.length)
    if (next === 0) throw violation("invalid Parse message")
    const body = payload.subarray(next)
    if (name === "") return this.#parseUnnamed(body, to)
    if (this.#statements.get(name)) {
      // The server has that name too, and says so.
      send(parseMessage(this.#nameAt(name, to), body))
      server.expected.push({ kind: "parse", fate: "pass", failed: nothing })
      return
    }
    const statement = this.#statements.add(name, body)
    if (!statement) throw tooMuch("too many prepared statements")
    const failed = () => this.#statements.remove(name, statement)
    if (!server.isFailed && server.statements.nameOf(statement) !== undefined) {
      // It is prepared: something as short is asked, so that the answer comes in its turn.
      send(closeMessage(`${UNKNOWN_PREFIX}${name}`))
      server.expected.push({ kind: "close", fate: "as-parsed", failed })
      return
    }
    prepareAt(to, statement, { fate: "pass", failed })
  }

  #parseUnnamed(body: Buffer, { server, send }: Destination) {
    const prepared = { body: Buffer.from(body), isThere: true }
    this.#unnamed = prepared
    send(parseMessage("", body))
    const failed = () => {
      if (this.#unnamed === prepared) this.#unnamed = undefined
    }
    server.expected.push({ kind: "parse", fate: "pass", failed })
  }

  #close(payload: Buffer, { server, send }: Destination) {
    const { value: name } = textAt(payload, 1, payload.length)
    const isNamed = payload[0] === STATEMENT && name !== ""
    if (payload[0] === STATEMENT && name === "") this.#unnamed = undefined
    const statement = isNamed ? this.#statements.get(name) : undefined
    if (statement) this.#statements.remove(name)
    /** It was skipped after an error. */
    const failed = () => {
      if (statement) this.#statements.restore(name, statement)
    }
    // Other clients may have the same statement.
    send(isNamed ? closeMessage(`${UNKNOWN_PREFIX}${name}`) : message("C", payload))
    server.expected.push({ kind: "close", fate: "pass", failed })
  }

  #describe(payload: Buffer, to: Destination) {
    if (payload[0] !== STATEMENT) return to.send(message("D", payload))
    const { value: name } = textAt(payload, 1, payload.length)
    to.send(message("D", Buffer.concat([Buffer.from("S"), latin1(this.#nameAt(name, to))])))
  }

  /** Sends the beginning of a Bind, up to the names, with another name, and leaves the rest. */
  #bind(bytes: Buffer, { at, end }: ClientFrame, to: Destination): number | undefined {
    const known = Math.min(end, bytes.length)
    const portal = textAt(bytes, at + HEAD_BYTES, known)
    const statement = portal.next === 0 ? portal : textAt(bytes, portal.next, known)
    if (statement.next === 0) {
      if (bytes.length - at > REWRITTEN_BYTES_MAX) throw tooMuch("the name is too long")
      if (end > bytes.length) return undefined
      throw violation("invalid Bind message")
    }
    const name = this.#nameAt(statement.value, to)
    if (name === statement.value) return at
    const names = Buffer.concat([bytes.subarray(at + HEAD_BYTES, portal.next), latin1(name)])
    const head = Buffer.alloc(HEAD_BYTES, FRONT.bind)
    head.writeInt32BE(4 + names.length + (end - statement.next), 1)
    to.send(Buffer.concat([head, names]))
    return statement.next
  }

  /** The name that a client's statement has on the connection, where it is prepared if it is not yet. */
  #nameAt(name: string, to: Destination): string {
    if (name === "") return this.#unnamedAt(to)
    const statement = this.#statements.get(name)
    if (!statement) return `${UNKNOWN_PREFIX}${name}`
    const known = to.server.statements.nameOf(statement)
    return known ?? prepareAt(to, statement, { fate: "drop", failed: nothing })
  }

  #unnamedAt({ server, send }: Destination): string {
    const unnamed = this.#unnamed
    // The server may have one of another client's.
    if (!unnamed || !(unnamed.isThere || unnamed.body)) return UNKNOWN_PREFIX
    if (!unnamed.isThere && unnamed.body) {
      send(parseMessage("", unnamed.body))
      server.expected.push({ kind: "parse", fate: "drop", failed: nothing })
      unnamed.isThere = true
    }
    return ""
  }
}

/** Has the server prepare a statement; returns its name there. */
const prepareAt = (
  { server, send }: Destination,
  statement: Statement,
  parse: { readonly fate: "pass" | "drop"; readonly failed: () => void },
): string => {
  const { name, evicted } = server.statements.add(statement)
  if (evicted !== undefined) {
    send(closeMessage(evicted))
    server.expected.push({ kind: "close", fate: "drop" })
  }
  send(parseMessage(name, statement.body))
  const failed = () => {
    server.statements.drop(name)
    parse.failed()
  }
  server.expected.push({ kind: "parse", fate: parse.fate, failed })
  return name
}
