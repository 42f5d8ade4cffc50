/** Prepared statements of the protocol: each client's by its own names, each server connection's by names of the pool's. */
import { createHash } from "node:crypto"

/** Statements that a client may have prepared, and the bytes of them. */
const CLIENT_STATEMENTS_MAX = 2_000
const CLIENT_BYTES_MAX = 4 * 1024 * 1024
/** Statements that a server connection keeps; each takes memory there. */
const SERVER_STATEMENTS_MAX = 200

/** Texts that are longer are told apart by their hashes. */
const KEY_BYTES_MAX = 1_024

const keyOf = (body: Buffer): string =>
  body.length > KEY_BYTES_MAX ? createHash("sha256").update(body).digest("base64") : body.toString("latin1")

/** What a client prepared: the payload of its Parse message behind the name. */
export interface Statement {
  /** The same text and types are the same statement for all clients. */
  readonly key: string
  readonly body: Buffer
}

export interface ClientStatements {
  get(name: string): Statement | undefined
  /** Undefined when the client has prepared too much. */
  add(name: string, body: Buffer): Statement | undefined
  remove(name: string, statement?: Statement): void
  /** Has a statement again that was removed, unless its name has been given since. */
  restore(name: string, statement: Statement): void
  clear(): void
}

export const createClientStatements = (): ClientStatements => {
  const statements = new Map<string, Statement>()
  let bytes = 0

  const remove = (name: string, only?: Statement) => {
    const found = statements.get(name)
    if (!found || (only && found !== only)) return
    bytes -= found.body.length
    statements.delete(name)
  }

  return {
    get: name => statements.get(name),
    add(name, body) {
      remove(name)
      if (statements.size >= CLIENT_STATEMENTS_MAX || bytes + body.length > CLIENT_BYTES_MAX) return undefined
      const statement = { key: keyOf(body), body: Buffer.from(body) }
      statements.set(name, statement)
      bytes += body.length
      return statement
    },
    remove,
    restore(name, statement) {
      if (statements.has(name)) return
      statements.set(name, statement)
      bytes += statement.body.length
    },
    clear() {
      statements.clear()
      bytes = 0
    },
  }
}

export interface ServerStatements {
  /** The name of a statement that the server has, as the one used last. */
  nameOf(statement: Statement): string | undefined
  /** A new name, and the name of the one that has to go for it. */
  add(statement: Pick<Statement, "key">): { readonly name: string; readonly evicted: string | undefined }
  /** The server did not take it. */
  drop(name: string): void
  clear(): void
}

export const createServerStatements = (): ServerStatements => {
  /** The one used least lately first. */
  const names = new Map<string, string>()
  const keys = new Map<string, string>()
  let lastNumber = 0

  const drop = (name: string) => {
    const key = keys.get(name)
    keys.delete(name)
    if (key !== undefined && names.get(key) === name) names.delete(key)
  }

  return {
    nameOf({ key }) {
      const name = names.get(key)
      if (name === undefined) return undefined
      names.delete(key)
      names.set(key, name)
      return name
    },
    add({ key }) {
      const [oldest] = names.size >= SERVER_STATEMENTS_MAX ? names.values() : []
      if (oldest !== undefined) drop(oldest)
      // Never given twice, so that what is still on its way cannot be taken for another.
      lastNumber += 1
      const name = `svc_${lastNumber}`
      names.set(key, name)
      keys.set(name, key)
      return { name, evicted: oldest }
    },
    drop,
    clear() {
      names.clear()
      keys.clear()
    },
  }
}
