/**
 * A client's messages as its server connection gets them: names of prepared statements are those of the connection, and
 * a statement that the connection has not is prepared there first.
 */
import { SQLSTATE, WireRefusal } from "../error-response.ts"
import { message } from "../scram.ts"
import type { Server } from "./server.ts"
import { type ClientStatements, createClientStatements, type Statement } from "./statements.ts"

/** Larger messages are passed through in parts, where they need not be changed. */
const WHOLE_BYTES_MAX = 1024 * 1024
const HEAD_BYTES = 5
const STATEMENT = 0x53
/** No statement has this name, so that the server refuses it in its own words. */
const UNKNOWN_PREFIX = "svc_unknown "

const BIND = 0x42
const CLOSE = 0x43
const DESCRIBE = 0x44
const EXECUTE = 0x45
const FUNCTION_CALL = 0x46
const PARSE = 0x50
const QUERY = 0x51
const SYNC = 0x53
const TERMINATE = 0x58
const COPY_DONE = 0x63
const COPY_FAIL = 0x66

const isKept = (type: number): boolean =>
  type === PARSE || type === BIND || type === CLOSE || type === DESCRIBE

export interface Translator {
  /**
   * Takes messages from the bytes, and returns how many of them are done with: of what is left, too little has come.
   * Throws a `WireRefusal` for what a pooled connection cannot have.
   */
  translate(bytes: Buffer, server: Server, send: (bytes: Buffer) => void): number
  /** In the middle of a message that is passed through. */
  readonly isPassing: boolean
  /** The client has another connection now. */
  moved(): void
  deallocated(): void
}

const tooMuch = (what: string): WireRefusal =>
  new WireRefusal({ sqlstate: SQLSTATE.programLimitExceeded, message: `${what} for a pooled connection` })

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

export const createTranslator = (): Translator => {
  const statements: ClientStatements = createClientStatements()
  /** The statement without a name: servers keep it until the next one, and a client may use it in a later transaction. */
  let unnamed: { readonly body: Buffer | undefined; isThere: boolean } | undefined
  let passing = 0

  /** Has the server prepare a statement; returns its name there. */
  const prepareAt = (
    server: Server,
    statement: Statement,
    send: (bytes: Buffer) => void,
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

  const nameAt = (server: Server, name: string, send: (bytes: Buffer) => void): string => {
    if (name === "") {
      // The server may have one of another client's.
      if (!unnamed || !(unnamed.isThere || unnamed.body)) return UNKNOWN_PREFIX
      if (!unnamed.isThere && unnamed.body) {
        send(parseMessage("", unnamed.body))
        server.expected.push({ kind: "parse", fate: "drop", failed: nothing })
        unnamed.isThere = true
      }
      return ""
    }
    const statement = statements.get(name)
    if (!statement) return `${UNKNOWN_PREFIX}${name}`
    const known = server.statements.nameOf(statement)
    return known ?? prepareAt(server, statement, send, { fate: "drop", failed: nothing })
  }

  const parse = (payload: Buffer, server: Server, send: (bytes: Buffer) => void) => {
    const { value: name, next } = textAt(payload, 0, payload.length)
    if (next === 0)
      throw new WireRefusal({ sqlstate: SQLSTATE.protocolViolation, message: "invalid Parse message" })
    const body = payload.subarray(next)
    if (name === "") {
      const prepared = { body: Buffer.from(body), isThere: true }
      unnamed = prepared
      send(parseMessage("", body))
      const failed = () => {
        if (unnamed === prepared) unnamed = undefined
      }
      return server.expected.push({ kind: "parse", fate: "pass", failed })
    }
    if (statements.get(name)) {
      // The server has that name too, and says so.
      send(parseMessage(nameAt(server, name, send), body))
      return server.expected.push({ kind: "parse", fate: "pass", failed: nothing })
    }
    const statement = statements.add(name, body)
    if (!statement) throw tooMuch("too many prepared statements")
    if (!server.isFailed && server.statements.nameOf(statement) !== undefined) {
      // It is prepared: something as short is asked, so that the answer comes in its turn.
      send(closeMessage(`${UNKNOWN_PREFIX}${name}`))
      const failed = () => statements.remove(name, statement)
      return server.expected.push({ kind: "close", fate: "as-parsed", failed })
    }
    prepareAt(server, statement, send, { fate: "pass", failed: () => statements.remove(name, statement) })
  }

  const close = (payload: Buffer, server: Server, send: (bytes: Buffer) => void) => {
    const { value: name } = textAt(payload, 1, payload.length)
    const isNamed = payload[0] === STATEMENT && name !== ""
    if (payload[0] === STATEMENT && name === "") unnamed = undefined
    const statement = isNamed ? statements.get(name) : undefined
    if (statement) statements.remove(name)
    /** It was skipped after an error. */
    const failed = () => {
      if (statement) statements.restore(name, statement)
    }
    // Other clients may have the same statement.
    send(isNamed ? closeMessage(`${UNKNOWN_PREFIX}${name}`) : message("C", payload))
    server.expected.push({ kind: "close", fate: "pass", failed })
  }

  const describe = (payload: Buffer, server: Server, send: (bytes: Buffer) => void) => {
    if (payload[0] !== STATEMENT) return send(message("D", payload))
    const { value: name } = textAt(payload, 1, payload.length)
    const named = nameAt(server, name, send)
    send(message("D", Buffer.concat([Buffer.from("S"), latin1(named)])))
  }

  /** The beginning of a Bind, up to the names, with another name; undefined when those have not come whole. */
  const bind = (bytes: Buffer, at: number, end: number, server: Server, send: (bytes: Buffer) => void) => {
    const known = Math.min(end, bytes.length)
    const portal = textAt(bytes, at + HEAD_BYTES, known)
    const statement = portal.next === 0 ? portal : textAt(bytes, portal.next, known)
    if (statement.next === 0) return undefined
    const name = nameAt(server, statement.value, send)
    if (name === statement.value) return at
    const names = Buffer.concat([bytes.subarray(at + HEAD_BYTES, portal.next), latin1(name)])
    const head = Buffer.alloc(HEAD_BYTES, BIND)
    head.writeInt32BE(4 + names.length + (end - statement.next), 1)
    send(Buffer.concat([head, names]))
    return statement.next
  }

  /** What is noted of messages that pass as they are. */
  const note = (type: number, server: Server) => {
    const { expected } = server
    if (type === QUERY || type === FUNCTION_CALL) {
      if (server.isUnsynced) {
        const message =
          "a simple query within a batch of the extended protocol is not supported by the pooler"
        throw new WireRefusal({ sqlstate: SQLSTATE.protocolViolation, message })
      }
      // It takes the place of the statement without a name.
      unnamed = undefined
      expected.push({ kind: "query" })
    } else if (type === SYNC) {
      expected.push({ kind: "sync" })
      server.isUnsynced = false
    } else if (type === EXECUTE) {
      server.copyEnded = false
      server.isUnsynced = true
    } else if (type === COPY_DONE || type === COPY_FAIL) server.copyEnded = true
    else if (isKept(type)) server.isUnsynced = true
  }

  const change = (type: number, payload: Buffer, server: Server, send: (bytes: Buffer) => void) => {
    if (type === PARSE) parse(payload, server, send)
    else if (type === CLOSE) close(payload, server, send)
    else describe(payload, server, send)
  }

  return {
    translate(bytes, server, send) {
      let at = Math.min(passing, bytes.length)
      passing -= at
      /** Where what passes as it is begins. */
      let from = 0
      const flush = (end: number) => {
        if (end > from) send(bytes.subarray(from, end))
      }
      while (bytes.length - at >= HEAD_BYTES) {
        const type = bytes.readUInt8(at)
        const end = at + 1 + bytes.readInt32BE(at + 1)
        if (end < at + HEAD_BYTES)
          throw new WireRefusal({ sqlstate: SQLSTATE.protocolViolation, message: "invalid message length" })
        if (type === TERMINATE) {
          flush(at)
          return bytes.length
        }
        const isLong = end > bytes.length && end - at > WHOLE_BYTES_MAX
        if (type === PARSE && isLong && bytes[at + HEAD_BYTES] === 0) {
          // Without a name it need not be kept beyond the transaction.
          unnamed = { body: undefined, isThere: true }
          server.expected.push({ kind: "parse", fate: "pass", failed: nothing })
        } else if (isKept(type) && type !== BIND) {
          if (isLong && bytes.length > at + HEAD_BYTES) throw tooMuch("the statement is too long")
          if (end > bytes.length) break
          flush(at)
          note(type, server)
          change(type, bytes.subarray(at + HEAD_BYTES, end), server, send)
          from = end
          at = end
          continue
        }
        if (type === BIND) {
          flush(at)
          from = at
          const rest = bind(bytes, at, end, server, send)
          if (rest === undefined) {
            if (bytes.length - at > WHOLE_BYTES_MAX) throw tooMuch("the name is too long")
            break
          }
          from = rest
        }
        note(type, server)
        passing = Math.max(0, end - bytes.length)
        at = Math.min(end, bytes.length)
      }
      flush(at)
      return at
    },
    get isPassing() {
      return passing > 0
    },
    moved() {
      if (unnamed) unnamed.isThere = false
    },
    deallocated() {
      statements.clear()
      unnamed = undefined
    },
  }
}
