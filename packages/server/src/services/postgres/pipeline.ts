/**
 * Statements of the extended protocol that travel in one write. pg's own queries wait for each answer; here the next
 * one, and the cleaning of the session behind them, are on their way before the first answer is back.
 */
import type { Socket } from "node:net"
import type pg from "pg"

/** A column as PostgreSQL describes it. */
export interface Field {
  readonly name: string
  /** OID of the table and number of its column; 0 where the column is computed. */
  readonly tableID: number
  readonly columnID: number
  readonly dataTypeID: number
  readonly dataTypeSize: number
  readonly dataTypeModifier: number
}

/** What PostgreSQL says of a statement that it did not carry out. */
export interface ServerError extends Error {
  /** SQLSTATE. */
  readonly code: string
  readonly severity: string
  readonly detail?: string
  readonly hint?: string
  readonly position?: string
  readonly internalPosition?: string
  readonly internalQuery?: string
  readonly where?: string
  readonly schema?: string
  readonly table?: string
  readonly column?: string
  readonly dataType?: string
  readonly constraint?: string
  readonly file?: string
  readonly line?: string
  readonly routine?: string
}

export const isServerError = (error: unknown): error is ServerError =>
  error instanceof Error && "severity" in error && typeof error.severity === "string" && "code" in error

/** The part of pg's connection that is used here: one method a message of the protocol. */
export interface Wire {
  readonly stream: Socket
  parse(message: { name?: string; text: string }): void
  bind(message: { statement?: string; values?: readonly (string | null)[] }): void
  describe(message: { type: "P" | "S"; name: string }): void
  execute(message: { portal: string; rows: number }): void
  close(message: { type: "S"; name: string }): void
  query(text: string): void
  sync(): void
  flush(): void
  once(event: string, listener: (message: never) => void): void
  off(event: string, listener: (message: never) => void): void
}

export type TransactionStatus = "I" | "T" | "E"

/** What belongs to one ReadyForQuery. Its messages come in the order in which they were asked for. */
export interface Unit {
  fields?(fields: readonly Field[]): void
  /** `bytes`: of the whole message. */
  row?(values: (string | null)[], bytes: number): void
  /** One statement has ended: its command tag, or null when it was empty. */
  complete?(tag: string | null): void
  /** The row limit of an Execute was reached. */
  suspended?(): void
  /** A server error; everything up to the next Sync is skipped. Called before the unit ends. */
  failed?(error: ServerError): void
}

export interface UnitEnd {
  readonly status: TransactionStatus
  readonly error: ServerError | undefined
}

/** The connection was lost, or had to be given up, so what became of the statement is not known. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost"
}

/** COPY exchanges files with its client, which a request cannot. */
export class CopyRefused extends Error {
  override readonly name = "CopyRefused"
}

interface Internals {
  readonly connection: Wire
  readonly processID: number
  readonly secretKey: number
  readonly host: string
  readonly port: number
  getTransactionStatus(): TransactionStatus
  query(submittable: unknown): unknown
}

export const internalsOf = (client: pg.ClientBase): Internals => client as unknown as Internals

/** A row must fit in memory whole before anything can be done about it. */
const MESSAGE_BYTES_MAX = 64 * 1024 * 1024

/** Gives the connection up when one message grows beyond all bounds. Call `reset` for every message that has come. */
const watchMessageSize = (wire: Wire, lose: (error: Error) => void) => {
  let pendingBytes = 0
  const count = (chunk: Buffer) => {
    pendingBytes += chunk.length
    if (pendingBytes <= MESSAGE_BYTES_MAX) return
    lose(new ConnectionLost("a row is too large"))
    wire.stream.destroy()
  }
  wire.stream.on("data", count)
  return {
    reset: () => {
      pendingBytes = 0
    },
    [Symbol.dispose]: () => void wire.stream.off("data", count),
  }
}

interface Settling {
  readonly promise: Promise<UnitEnd>
  readonly resolve: (end: UnitEnd) => void
  readonly reject: (error: Error) => void
}

const settling = (): Settling => {
  const made = Promise.withResolvers<UnitEnd>()
  // Promises that the caller does not await must not end the process when they reject.
  made.promise.catch(() => undefined)
  return made
}

/**
 * Has `write` send the messages of all units in one packet, and reports each unit's messages to it. One promise a unit:
 * resolved with how it ended, rejected when the connection was lost. The client must be idle.
 */
export const runUnits = (
  client: pg.ClientBase,
  units: readonly Unit[],
  write: (wire: Wire) => void,
): readonly Promise<UnitEnd>[] => {
  const internals = internalsOf(client)
  const wire = internals.connection
  const ends = units.map(settling)

  const lose = (error: Error) => {
    size[Symbol.dispose]()
    wire.off("end", onEnd)
    const known = error instanceof ConnectionLost || error instanceof CopyRefused
    for (const end of ends)
      end.reject(known ? error : new ConnectionLost("connection lost", { cause: error }))
  }
  const onEnd = () => lose(new ConnectionLost("connection ended"))
  const size = watchMessageSize(wire, lose)

  const submit = (position: number): void => {
    const unit = units[position] as Unit
    let error: ServerError | undefined
    let isCopy = false

    const finish = (status: TransactionStatus) => {
      const refused = isCopy ? new CopyRefused("COPY") : undefined
      if (position === units.length - 1) {
        size[Symbol.dispose]()
        wire.off("end", onEnd)
      } else submit(position + 1)
      if (refused) ends[position]?.reject(refused)
      else ends[position]?.resolve({ status, error })
    }

    internals.query({
      submit() {
        if (position > 0) return null
        wire.stream.cork()
        write(wire)
        wire.stream.uncork()
        return null
      },
      handleRowDescription({ fields }: { fields: Field[] }) {
        unit.fields?.(fields)
      },
      handleDataRow({ fields, length }: { fields: (string | null)[]; length: number }) {
        size.reset()
        unit.row?.(fields, length)
      },
      handleCommandComplete({ text }: { text: string }) {
        size.reset()
        unit.complete?.(text)
      },
      handleEmptyQuery() {
        unit.complete?.(null)
      },
      handlePortalSuspended() {
        size.reset()
        unit.suspended?.()
      },
      handleCopyInResponse() {
        // The server now takes every message for data, so this connection is of no more use.
        lose(new CopyRefused("COPY"))
        wire.stream.destroy()
      },
      handleCopyData() {
        size.reset()
        isCopy = true
      },
      handleError(reason: Error) {
        if (!isServerError(reason)) return lose(reason)
        error = reason
        // pg forgets a query that failed, so its end is heard from the connection itself.
        wire.once("readyForQuery", (message: { status: TransactionStatus }) => finish(message.status))
        unit.failed?.(reason)
      },
      handleReadyForQuery() {
        finish(internals.getTransactionStatus())
      },
    })
  }

  wire.once("end", onEnd)
  submit(0)
  return ends.map(({ promise }) => promise)
}
