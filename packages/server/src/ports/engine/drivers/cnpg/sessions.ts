/** What only SQL can tell of a volume or do in it. The operator keeps the superuser, so these are sessions of its roles. */
import pg from "pg"
import { PortError } from "../../../port-error.ts"
import {
  asOptions,
  DATABASE_NAME,
  type Endpoint,
  type Lsn,
  OWNER_ROLE,
  OWNER_SESSION_ROLE,
  pinnedSettings,
  READER_ROLE,
  type VolumeRef,
  type VolumeUse,
} from "../../port.ts"
import { secretName } from "./manifests.ts"
import type { ClusterContext } from "./site.ts"

export interface Sessions {
  /** Opens a session in which we act as the owner. */
  admits(volume: VolumeRef): Promise<void>
  inspect(volume: VolumeRef): Promise<VolumeUse>
  /** Where the log of a volume is. */
  position(volume: VolumeRef): Promise<Lsn>
  /** Takes the passwords from roles that came with a copy, which readers of its source may know. */
  lockOtherRoles(volume: VolumeRef): Promise<void>
}

const CONNECT_TIMEOUT_MS = 10_000
const STATEMENT_TIMEOUT_MS = 30_000
const INSUFFICIENT_PRIVILEGE = "42501"

const USE = `
  SELECT count(*)::int AS sessions, count(*) FILTER (WHERE state <> 'idle')::int AS active,
    (SELECT sum(pg_database_size(oid)) FROM pg_database WHERE datallowconn AND NOT datistemplate) AS bytes
  FROM pg_stat_activity
  WHERE backend_type IN ('client backend', 'parallel worker') AND pid <> pg_backend_pid()
    AND usename NOT IN ('postgres', 'streaming_replica')`

const OTHER_ROLES = `
  SELECT quote_ident(rolname) AS name FROM pg_roles
  WHERE rolcanlogin AND NOT rolsuper AND NOT rolreplication AND rolname <> ALL ($1) AND rolname !~ '^(pg|cnpg)_'`

export const createSessions = (
  site: ClusterContext,
  endpointOf: (volume: VolumeRef) => Promise<Endpoint>,
): Sessions => {
  const passwordOf = async (volumeId: string, role: string): Promise<string> => {
    const name = secretName(volumeId, role === READER_ROLE ? "reader" : "session")
    const encoded = (await site.api.get("secrets", name))?.data?.password
    if (encoded === undefined) throw new PortError("missing", `there is no Secret ${name}`)
    return Buffer.from(encoded, "base64").toString("utf8")
  }

  const as = async <Result>(
    role: string,
    volume: VolumeRef,
    work: (client: pg.Client) => Promise<Result>,
  ): Promise<Result> => {
    const [{ host, port, tls }, password] = await Promise.all([
      endpointOf(volume),
      passwordOf(volume.id, role),
    ])
    const client = new pg.Client({
      ...{ host, port, user: role, password, database: DATABASE_NAME, application_name: "svc" },
      ssl: tls ? { ca: tls.ca, servername: tls.servername } : false,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      statement_timeout: STATEMENT_TIMEOUT_MS,
      // What a tenant set for all sessions of the database must not reach ours.
      options: asOptions({
        ...pinnedSettings(volume.pgVersion),
        role: role === OWNER_SESSION_ROLE ? OWNER_ROLE : "none",
        search_path: "pg_catalog",
      }),
    })
    // A connection that breaks fails the statement under way; without a listener it would end the process too.
    client.on("error", () => undefined)
    try {
      await client.connect()
      return await work(client)
    } catch (error) {
      throw new PortError("unavailable", `a session of ${role} in ${volume.id} failed: ${error}`, error)
    } finally {
      await client.end().catch(() => undefined)
    }
  }

  return {
    admits: volume => as(OWNER_SESSION_ROLE, volume, async () => undefined),

    // The reader is told of no other session what it does.
    inspect: volume =>
      as(OWNER_SESSION_ROLE, volume, async client => {
        const { rows } = await client.query<{ sessions: number; active: number; bytes: string }>(USE)
        const [{ sessions, active, bytes } = { sessions: 0, active: 0, bytes: "0" }] = rows
        return { sessions, activeSessions: active, logicalBytes: Number(bytes) }
      }),

    position: volume =>
      as(READER_ROLE, volume, async client => {
        const { rows } = await client.query<{ lsn: Lsn }>("SELECT pg_current_wal_flush_lsn()::text AS lsn")
        return rows[0]?.lsn ?? "0/0"
      }),

    lockOtherRoles: volume =>
      as(OWNER_SESSION_ROLE, volume, async client => {
        const { rows } = await client.query<{ name: string }>(OTHER_ROLES, [
          [OWNER_ROLE, OWNER_SESSION_ROLE, READER_ROLE],
        ])
        for (const { name } of rows) {
          await client.query(`ALTER ROLE ${name} PASSWORD NULL`).catch(error => {
            // One that a role of the owner's made, and that the owner gave up its hold on.
            if (error.code !== INSUFFICIENT_PRIVILEGE) throw error
            site.log(`${volume.id}: the role ${name} keeps its password`)
          })
        }
      }),
  }
}
