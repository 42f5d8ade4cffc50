/**
 * The replication side of PostgreSQL's protocol, on `pg`'s connection: the few commands of a physical walsender, and
 * its stream of log (https://www.postgresql.org/docs/current/protocol-replication.html).
 */
import pg from "pg"
import { formatLsn, parseLsn } from "./position.ts"

/** The name that `synchronous_standby_names` waits for, and that of the slot which keeps log we do not have. */
export const STANDBY_NAME = "svc_wal"
const CONNECT_TIMEOUT_MS = 10_000
/** Microseconds from 1970 to 2000, where PostgreSQL's clock begins. */
const POSTGRES_EPOCH_US = 946_684_800_000_000n

export interface SourceAddress {
  readonly socketDir: string
  readonly port: number
  readonly user: string
  readonly password: string
}

export interface SystemIdentity {
  readonly systemId: bigint
  readonly timeline: number
  /** Up to where the server's log is on its disk. */
  readonly flushed: bigint
  readonly segmentBytes: number
}

/** `restart` undefined: the server has dropped log that the slot was to keep, and the slot is of no more use. */
export interface Slot {
  readonly restart: { readonly timeline: number; readonly position: bigint } | undefined
}

export type StreamEnd =
  | { readonly kind: "timeline"; readonly next: { readonly timeline: number; readonly position: bigint } }
  /** The server was shut down in order: it had our word that we have everything. */
  | { readonly kind: "shutdown" }

/** What a stream tells its reader. */
export interface StreamReader {
  /** Log from `position` on, and where the server's ended then. The buffer is the reader's only until this returns. */
  received(position: bigint, log: Buffer, serverEnd: bigint): void
  /** A sign of life, which tells how much was sent, not how much there is. */
  heard(wantsReply: boolean): void
}

export interface LogStream {
  /** Settles when the stream has ended and nothing more comes; rejects when the connection broke. */
  readonly ended: Promise<StreamEnd>
  /** Says what is on our disk. The server takes it for written, flushed and applied. */
  confirm(flushed: bigint): void
  /** Answers the server's end of a timeline, once everything before it is on disk. */
  acceptEnd(): void
  /** Settles when the server has ended the timeline and waits for `acceptEnd`. Never when it ends otherwise. */
  readonly timelineOver: Promise<void>
  pause(): void
  resume(): void
}

/** Disposing of it breaks off whatever is under way. */
export interface ReplicationConnection extends AsyncDisposable {
  identify(): Promise<SystemIdentity>
  /** Undefined when there is none. */
  findSlot(): Promise<Slot | undefined>
  createSlot(): Promise<void>
  dropSlot(): Promise<void>
  /** The text of a timeline's history file. */
  timelineHistory(timeline: number): Promise<string>
  stream(timeline: number, position: bigint, reader: StreamReader): LogStream
}

const SIZE_UNITS: Readonly<Record<string, number>> = { B: 1, kB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 }

/** `16MB`, as SHOW writes a setting that counts bytes. */
const parseSize = (text: string): number => {
  const [, count, unit = ""] = /^(\d+)(B|kB|MB|GB)$/.exec(text) ?? []
  return Number(count) * (SIZE_UNITS[unit] ?? Number.NaN)
}

const COPY_DATA = 0x64
const COPY_DONE = Buffer.from([0x63, 0, 0, 0, 4])
const STATUS_BYTES = 34

/** CopyData with a standby status update: the same position for written, flushed and applied; 0 says nothing of it. */
export const statusMessage = (position: bigint, wantsReply: boolean, now = Date.now()): Buffer => {
  const message = Buffer.alloc(1 + 4 + STATUS_BYTES)
  message[0] = COPY_DATA
  message.writeUInt32BE(4 + STATUS_BYTES, 1)
  message[5] = "r".charCodeAt(0)
  for (const offset of [6, 14, 22]) message.writeBigUInt64BE(position, offset)
  message.writeBigInt64BE(BigInt(now) * 1000n - POSTGRES_EPOCH_US, 30)
  message[38] = wantsReply ? 1 : 0
  return message
}

const XLOG_DATA = "w".charCodeAt(0)
const XLOG_DATA_HEADER_BYTES = 25
const KEEPALIVE = "k".charCodeAt(0)

const readMessage = (chunk: Buffer, reader: StreamReader): void => {
  if (chunk[0] === XLOG_DATA) {
    reader.received(
      chunk.readBigUInt64BE(1),
      chunk.subarray(XLOG_DATA_HEADER_BYTES),
      chunk.readBigUInt64BE(9),
    )
  } else if (chunk[0] === KEEPALIVE) {
    reader.heard(chunk[17] === 1)
  }
}

/** What `pg` hands to a query object of one's own that its types do not list. */
interface Handlers {
  handleCopyData(message: { chunk: Buffer }): void
  handleRowDescription(): void
  handleDataRow(message: { fields: readonly (string | null)[] }): void
  handleCommandComplete(): void
  handleReadyForQuery(): void
  handleError(error: Error): void
}

const openStream = (
  client: pg.Client,
  timeline: number,
  position: bigint,
  reader: StreamReader,
): LogStream => {
  const ended = Promise.withResolvers<StreamEnd>()
  const over = Promise.withResolvers<void>()
  ended.promise.catch(() => undefined)
  let connection: pg.Connection | undefined
  let next: { timeline: number; position: bigint } | undefined
  let inOrder = false
  const send = (message: Buffer) => {
    if (connection?.stream.writable) connection.stream.write(message)
  }
  const submitted: pg.Submittable & Handlers = {
    submit(opened) {
      connection = opened
      opened.once("copyDone", over.resolve)
      // The answer tells that the stream is under way, even when there is nothing to send. No position yet: that would
      // move the slot there, perhaps back to where the server has dropped its log.
      opened.once("replicationStart", () => send(statusMessage(0n, true)))
      opened.query(
        `START_REPLICATION SLOT ${STANDBY_NAME} PHYSICAL ${formatLsn(position)} TIMELINE ${timeline}`,
      )
    },
    handleCopyData: ({ chunk }) => readMessage(chunk, reader),
    handleRowDescription() {},
    handleDataRow({ fields: [nextTimeline, lsn] }) {
      if (nextTimeline && lsn) next = { timeline: Number(nextTimeline), position: parseLsn(lsn) }
    },
    handleCommandComplete() {
      inOrder = true
    },
    handleReadyForQuery() {
      if (next) ended.resolve({ kind: "timeline", next })
      else ended.reject(new Error("the server ended a timeline without naming the next one"))
    },
    handleError(error) {
      // A server that shuts down says that the command is complete, and closes without another word.
      if (inOrder && !next) ended.resolve({ kind: "shutdown" })
      else ended.reject(error)
    },
  }
  client.query(submitted)
  return {
    ended: ended.promise,
    timelineOver: over.promise,
    confirm: flushed => send(statusMessage(flushed, false)),
    acceptEnd: () => send(COPY_DONE),
    pause: () => connection?.stream.pause(),
    resume: () => connection?.stream.resume(),
  }
}

/** Opens a connection in physical replication mode. Rejects with `pg`'s and Node's errors as they are. */
export const connectReplication = async (address: SourceAddress): Promise<ReplicationConnection> => {
  const client = new pg.Client({
    ...{ host: address.socketDir, port: address.port, user: address.user, password: address.password },
    ...{ ssl: false, application_name: STANDBY_NAME, connectionTimeoutMillis: CONNECT_TIMEOUT_MS },
    replication: "true",
    // The contents of a history file are sent as they are, and are not to be taken for an encoded bytea.
    types: { getTypeParser: () => (text: string) => text },
  } as pg.ClientConfig)
  // A connection that breaks fails the command under way; without a listener it would end the thread too.
  client.on("error", () => undefined)
  await client.connect()
  const row = async (command: string): Promise<Record<string, string | null>> =>
    (await client.query(command)).rows[0] ?? {}

  return {
    async identify() {
      const system = await row("IDENTIFY_SYSTEM")
      const { wal_segment_size } = await row("SHOW wal_segment_size")
      return {
        systemId: BigInt(system.systemid ?? 0),
        timeline: Number(system.timeline),
        flushed: parseLsn(system.xlogpos ?? ""),
        segmentBytes: parseSize(wal_segment_size ?? ""),
      }
    },
    async findSlot() {
      const { slot_type, restart_lsn, restart_tli } = await row(`READ_REPLICATION_SLOT ${STANDBY_NAME}`)
      if (!slot_type) return undefined
      if (!restart_lsn) return { restart: undefined }
      return { restart: { timeline: Number(restart_tli), position: parseLsn(restart_lsn) } }
    },
    async createSlot() {
      await client.query(`CREATE_REPLICATION_SLOT ${STANDBY_NAME} PHYSICAL RESERVE_WAL`)
    },
    async dropSlot() {
      await client.query(`DROP_REPLICATION_SLOT ${STANDBY_NAME} WAIT`)
    },
    async timelineHistory(timeline) {
      return (await row(`TIMELINE_HISTORY ${timeline}`)).content ?? ""
    },
    stream: (timeline, position, reader) => openStream(client, timeline, position, reader),
    async [Symbol.asyncDispose]() {
      await client.end().catch(() => undefined)
    },
  }
}
