import type pg from "pg"
import { databaseSetup, ownerSetup, platformRoles } from "../../furnishing.ts"
import {
  DATABASE_NAME,
  OWNER_ROLE,
  OWNER_SESSION_ROLE,
  READER_ROLE,
  type RolePasswords,
  type VolumeCredentials,
} from "../../port.ts"
import { asAdmin, literal } from "./admin.ts"
import { ARCHIVER_NAME } from "./settings.ts"
import type { Volume } from "./volume.ts"

/** A role's name, and what the server keeps of its password: `SCRAM-SHA-256$…`. */
type Verifiers = ReadonlyMap<string, string>

/** The roles in a running volume, as the superuser sees and changes them. */
export interface Roles {
  setPasswords(volume: Volume, credentials: VolumeCredentials): Promise<void>
  /** See `EnginePort.restoreAccess`. Volumes from before the platform had a role that it lacks get it here. */
  restoreAccess(volume: Volume, credentials: VolumeCredentials): Promise<void>
  /** Of the owner, and of the roles that the tenant made. */
  verifiers(volume: Volume): Promise<Verifiers>
  /** See `EnginePort.verifierOf`. Callers at the same time share one session. */
  verifierOf(volume: Volume, role: string): Promise<string | undefined>
  /** Gives roles in a copy the passwords that are known of them; the other roles keep theirs, or have none. */
  settleOthers(
    volume: Volume,
    passwords: Pick<RolePasswords, "others"> & { readonly known: Verifiers | undefined },
  ): Promise<void>
}

/**
 * The archiver makes its slot when it gets there, and a checkpoint before that would let go of the log since the
 * template.
 */
const KEEP_LOG = `SELECT pg_create_physical_replication_slot('${ARCHIVER_NAME}', true)
  WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = '${ARCHIVER_NAME}')`
const DUPLICATE_OBJECT = "42710"

/** The archiver was quicker. */
const ignoreDuplicate = (error: { code?: string }) => {
  if (error.code !== DUPLICATE_OBJECT) throw error
}

const VERIFIERS = `SELECT rolname AS name, quote_ident(rolname) AS quoted, rolpassword AS verifier FROM pg_authid
  WHERE rolpassword IS NOT NULL AND NOT rolsuper AND rolname !~ '^svc_'`

const USABLE_VERIFIERS = `SELECT rolname AS name, rolpassword AS verifier FROM pg_authid
  WHERE rolname = ANY ($1) AND rolcanlogin AND NOT rolsuper AND rolname !~ '^svc_' AND rolpassword ~ '^SCRAM-SHA-256'
    AND (rolvaliduntil IS NULL OR rolvaliduntil > now())`

interface RoleRow {
  readonly name: string
  readonly quoted: string
  readonly verifier: string
}

const OWN_ROLES = [OWNER_SESSION_ROLE, READER_ROLE]

const setOwnPasswords = async (client: pg.Client, password: string) => {
  for (const role of OWN_ROLES) await client.query(`ALTER ROLE ${role} PASSWORD ${literal(password)}`)
}

/** What tenants can do to a role that acts for them, and to the database that they own. */
const RESET = [
  // What earlier versions of the platform granted beyond need.
  `REVOKE pg_monitor FROM ${OWNER_ROLE}`,
  `REVOKE pg_read_all_data, pg_read_all_stats FROM ${READER_ROLE}`,
  ...OWN_ROLES.flatMap(role => [
    `ALTER ROLE ${role} LOGIN CONNECTION LIMIT -1 VALID UNTIL 'infinity'`,
    `ALTER ROLE ${role} RESET ALL`,
    `ALTER ROLE ${role} IN DATABASE ${DATABASE_NAME} RESET ALL`,
  ]),
  ...ownerSetup,
  ...platformRoles,
]
const RESET_DATABASE = [
  `ALTER DATABASE ${DATABASE_NAME} ALLOW_CONNECTIONS true CONNECTION LIMIT -1`,
  `GRANT CONNECT ON DATABASE ${DATABASE_NAME} TO ${OWN_ROLES}`,
]

/** Whoever asks while a read is under way gets the answer of the next one: theirs may be older than a new password. */
const createVerifierReader = (read: (volume: Volume, roles: readonly string[]) => Promise<Verifiers>) => {
  const underWay = new Map<string, Promise<unknown>>()
  const next = new Map<string, { readonly roles: Set<string>; readonly verifiers: Promise<Verifiers> }>()

  const follow = (volume: Volume) => {
    const { id } = volume.record
    const roles = new Set<string>()
    const verifiers = (async () => {
      await underWay.get(id)?.catch(() => undefined)
      next.delete(id)
      const reading = read(volume, [...roles])
      underWay.set(id, reading)
      try {
        return await reading
      } finally {
        if (underWay.get(id) === reading) underWay.delete(id)
      }
    })()
    const batch = { roles, verifiers }
    next.set(id, batch)
    return batch
  }

  return async (volume: Volume, role: string): Promise<string | undefined> => {
    const { roles, verifiers } = next.get(volume.record.id) ?? follow(volume)
    roles.add(role)
    return (await verifiers).get(role)
  }
}

export const createRoles = (adminPassword: string): Roles => {
  const at = ({ socketDir }: Volume) => ({ socketDir, password: adminPassword })
  const verifierOf = createVerifierReader((volume, names) =>
    asAdmin(at(volume), async client => {
      const { rows } = await client.query<RoleRow>(USABLE_VERIFIERS, [names])
      return new Map(rows.map(({ name, verifier }) => [name, verifier]))
    }),
  )

  return {
    setPasswords: (volume, { owner, reader }) =>
      asAdmin(at(volume), async client => {
        await client.query(KEEP_LOG).catch(ignoreDuplicate)
        await client.query(`ALTER ROLE ${OWNER_ROLE} PASSWORD ${literal(owner)}`)
        await setOwnPasswords(client, reader)
      }),

    async restoreAccess(volume, { reader }) {
      const hasDatabase = await asAdmin(at(volume), async client => {
        const { rowCount } = await client.query(`SELECT FROM pg_database WHERE datname = '${DATABASE_NAME}'`)
        for (const statement of platformRoles) await client.query(statement)
        const database = rowCount === 1 ? RESET_DATABASE : []
        const role = rowCount === 1 ? RESET : RESET.filter(text => !text.includes("IN DATABASE"))
        for (const statement of [...role, ...database]) await client.query(statement)
        await setOwnPasswords(client, reader)
        return rowCount === 1
      })
      if (!hasDatabase) return
      const tenant = { database: DATABASE_NAME, version: volume.record.pgVersion }
      await asAdmin({ ...at(volume), tenant }, async client => {
        for (const statement of databaseSetup) await client.query(statement)
      })
    },

    verifiers: volume =>
      asAdmin(at(volume), async client => {
        const { rows } = await client.query<RoleRow>(VERIFIERS)
        return new Map(rows.map(({ name, verifier }) => [name, verifier]))
      }),

    verifierOf,

    settleOthers: (volume, { known, others }) =>
      asAdmin(at(volume), async client => {
        const { rows } = await client.query<RoleRow>(VERIFIERS)
        for (const { name, quoted } of rows) {
          const verifier = known?.get(name)
          if (verifier !== undefined) await client.query(`ALTER ROLE ${quoted} PASSWORD ${literal(verifier)}`)
          else if (others === "cleared" && name !== OWNER_ROLE)
            await client.query(`ALTER ROLE ${quoted} PASSWORD NULL`)
        }
      }),
  }
}
