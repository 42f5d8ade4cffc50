/** Looks on at one session's messages in both directions, and never changes or delays them. */
import { type CallQueue, createCallQueue, type FinishedCall } from "./call-queue.ts"
import { type Channels, createChannels } from "./channels.ts"
import { errorFields } from "./error-response.ts"
import { createFrameScanner, type FrameSink } from "./frames.ts"
import { createStatementTexts } from "./statement-texts.ts"

export interface ObserverEvents {
  /** The key that cancels this session: process id and secret, as latin1 text. */
  key(key: string): void
  /** The client is in, and the server waits for its first statement. */
  ready(): void
  call(call: FinishedCall): void
}

export interface Observer {
  /** Bytes from the client. */
  front(chunk: Buffer): void
  /** Bytes from the server. */
  back(chunk: Buffer): void
  /** `busy`: a statement runs or a transaction is open. */
  readonly state: "busy" | "idle" | "listening"
  /** The client said that it leaves. */
  readonly terminated: boolean
  /** The server said why it ends the session. */
  readonly fatal: boolean
  /** Whether the bytes from the server end with a whole message. */
  readonly atBoundary: boolean
}

/** What of a statement's text is kept, in bytes. */
const SQL_BYTES_MAX = 8 * 1024
/** Names are cut off by PostgreSQL at 63 bytes, though clients may send longer ones. */
const NAMES_BYTES_MAX = 512
const ERROR_BYTES_MAX = 4 * 1024
const TAG_BYTES_MAX = 64
const KEY_BYTES_MAX = 4 + 256

/** A text up to its end byte, or what there is of it. `next` is where the one after it begins. */
const text = (bytes: Buffer, start: number, end: number): { value: string; next: number } => {
  const found = start < end ? bytes.indexOf(0, start) : -1
  const stop = found < 0 || found > end ? end : found
  return { value: bytes.toString("utf8", start, stop), next: Math.min(stop + 1, end) }
}

/** A text that was cut off may end in half a character. */
const sqlText = (bytes: Buffer, start: number, end: number): string => {
  const { value, next } = text(bytes, start, end)
  return next === end && value.endsWith("\ufffd") ? value.slice(0, -1) : value
}

const frontWanted = {
  Q: SQL_BYTES_MAX,
  P: SQL_BYTES_MAX + NAMES_BYTES_MAX,
  B: NAMES_BYTES_MAX,
  E: NAMES_BYTES_MAX,
  C: NAMES_BYTES_MAX,
  S: 0,
  F: 0,
  X: 0,
  c: 0,
  f: 0,
}

const createFrontSink = (queue: CallQueue, said: { goodbye: boolean }): FrameSink => {
  const texts = createStatementTexts()
  return (type, bytes, start, end) => {
    switch (type) {
      case 0x51: // Q: Query
        return queue.ask("simple", sqlText(bytes, start, end))
      case 0x50: {
        // P: Parse, with the name of the statement and its text
        const { value: statement, next } = text(bytes, start, end)
        const sql = sqlText(bytes, next, Math.min(end, next + SQL_BYTES_MAX))
        texts.prepare(statement, sql)
        return queue.ask("parse", sql)
      }
      case 0x42: {
        // B: Bind, with the names of the portal and the statement
        const { value: portal, next } = text(bytes, start, end)
        return texts.bind(portal, text(bytes, next, end).value)
      }
      case 0x45: // E: Execute, with the name of the portal
        return queue.ask("execute", texts.of(text(bytes, start, end).value))
      case 0x43: {
        // C: Close, of a statement (S) or a portal
        const { value } = text(bytes, start + 1, end)
        return bytes[start] === 0x53 ? texts.closeStatement(value) : texts.closePortal(value)
      }
      case 0x53: // S: Sync
        return queue.ask("sync", "")
      case 0x46: // F: FunctionCall
        return queue.ask("other", "")
      case 0x58: // X: Terminate
        said.goodbye = true
        return
      default: // c, f: CopyDone, CopyFail
        return queue.endCopy()
    }
  }
}

const backWanted = { C: TAG_BYTES_MAX, E: ERROR_BYTES_MAX, Z: 1, K: KEY_BYTES_MAX, I: 0, s: 0, "1": 0, G: 0 }

interface ServerSide {
  inTransaction: boolean
  fatal: boolean
  ready: boolean
}

const createBackSink = (
  queue: CallQueue,
  channels: Channels,
  server: ServerSide,
  events: ObserverEvents,
): FrameSink => {
  return (type, bytes, start, end) => {
    switch (type) {
      case 0x43: {
        // C: CommandComplete
        const tag = bytes.toString("latin1", start, end > start && bytes[end - 1] === 0 ? end - 1 : end)
        if (tag.endsWith("LISTEN") || tag === "DISCARD ALL") channels.completed(tag, queue.current)
        return queue.completed(tag)
      }
      case 0x5a: // Z: ReadyForQuery
        server.inTransaction = bytes[start] !== 0x49
        if (!server.ready) {
          server.ready = true
          events.ready()
        }
        return queue.ready()
      case 0x45: {
        // E: ErrorResponse
        const error = errorFields(bytes, start, end)
        if (error.severity === "FATAL" || error.severity === "PANIC") server.fatal = true
        return queue.failed(error)
      }
      case 0x49: // I: EmptyQueryResponse
      case 0x73: // s: PortalSuspended
        return queue.completed("")
      case 0x31: // 1: ParseComplete
        return queue.parsed()
      case 0x47: // G: CopyInResponse
        return queue.copyIn()
      default: // K: BackendKeyData
        return events.key(bytes.toString("latin1", start, end))
    }
  }
}

export const createObserver = (events: ObserverEvents): Observer => {
  const queue = createCallQueue(events.call)
  const channels = createChannels()
  const client = { goodbye: false }
  const server: ServerSide = { inTransaction: false, fatal: false, ready: false }
  const front = createFrameScanner(frontWanted, createFrontSink(queue, client))
  const back = createFrameScanner(backWanted, createBackSink(queue, channels, server, events))

  return {
    front: front.push,
    back: back.push,
    get state() {
      // A session that cannot be followed any more is taken for busy, so that nobody puts it to sleep.
      const unknown = queue.overflown || front.lost || back.lost
      if (unknown || server.inTransaction || !queue.empty) return "busy"
      return channels.any ? "listening" : "idle"
    },
    get terminated() {
      return client.goodbye
    },
    get fatal() {
      return server.fatal
    },
    get atBoundary() {
      return back.atBoundary
    },
  }
}
