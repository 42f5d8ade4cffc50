import pg from "pg"
import { PortError } from "../../../port-error.ts"
import { asOptions, type PgVersion, pinnedSettings } from "../../port.ts"
import { SOCKET_PORT } from "./settings.ts"

/** The superuser, for the engine alone: its password never leaves this process. */
export const ADMIN_ROLE = "svc_admin"

const CONNECT_TIMEOUT_MS = 10_000
const STATEMENT_TIMEOUT_MS = 60_000

export interface AdminPlace {
  readonly socketDir: string
  readonly password: string
  /**
   * One of the tenant's, whose settings must not reach the session; without it `postgres`, which no tenant can change,
   * rename or drop.
   */
  readonly tenant?: { readonly database: string; readonly version: PgVersion }
}

/** Lends a superuser's connection. Copying a large volume in backup mode takes longer than any statement of it. */
export const asAdmin = async <Result>(
  at: AdminPlace,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> => {
  const client = new pg.Client({
    host: at.socketDir,
    port: SOCKET_PORT,
    user: ADMIN_ROLE,
    password: at.password,
    database: at.tenant?.database ?? "postgres",
    ssl: false,
    application_name: "svc",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    options: asOptions({
      ...(at.tenant && pinnedSettings(at.tenant.version)),
      search_path: "pg_catalog",
      synchronous_commit: "local",
    }),
  })
  // A connection that breaks fails the statement under way; without a listener it would end the process too.
  client.on("error", () => undefined)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** What PostgreSQL says while it stops, and what the system says of its socket once it has. */
const GONE: ReadonlySet<unknown> = new Set([
  "57P01",
  "57P02",
  "57P03",
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOENT",
  "EPIPE",
])

/** What the client says of a session that ended while a statement ran, or between two of them. */
const ENDED = /^(Connection terminated|Client has encountered a connection error|Client was closed)/

const isGone = (error: unknown): boolean =>
  error instanceof Error && (GONE.has((error as { code?: unknown }).code) || ENDED.test(error.message))

/** A server that was stopped or removed while it was asked is unavailable; the next try finds it asleep, or not at all. */
export const whileUp = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work()
  } catch (error) {
    if (!isGone(error)) throw error
    throw new PortError("unavailable", "the server stopped meanwhile", error)
  }
}

/** A text as an SQL literal, for statements that take no parameters (ALTER ROLE). */
export const literal = (text: string): string => pg.escapeLiteral(text)
