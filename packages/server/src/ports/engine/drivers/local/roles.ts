import { OWNER_ROLE, READER_ROLE, type RolePasswords, type VolumeCredentials } from "../../port.ts"
import { asAdmin, literal } from "./admin.ts"
import { ARCHIVER_NAME } from "./settings.ts"
import type { Volume } from "./volume.ts"

/** A role's name, and what the server keeps of its password: `SCRAM-SHA-256$…`. */
type Verifiers = ReadonlyMap<string, string>

/** The roles in a running volume, as the superuser sees and changes them. */
export interface Roles {
  setPasswords(volume: Volume, credentials: VolumeCredentials): Promise<void>
  /** Of the owner, and of the roles that the tenant made. */
  verifiers(volume: Volume): Promise<Verifiers>
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

interface RoleRow {
  readonly name: string
  readonly quoted: string
  readonly verifier: string
}

export const createRoles = (adminPassword: string): Roles => {
  const at = ({ socketDir }: Volume) => ({ socketDir, password: adminPassword })

  return {
    setPasswords: (volume, { owner, reader }) =>
      asAdmin(at(volume), async client => {
        await client.query(KEEP_LOG).catch(ignoreDuplicate)
        await client.query(`ALTER ROLE ${OWNER_ROLE} PASSWORD ${literal(owner)}`)
        await client.query(`ALTER ROLE ${READER_ROLE} PASSWORD ${literal(reader)}`)
      }),

    verifiers: volume =>
      asAdmin(at(volume), async client => {
        const { rows } = await client.query<RoleRow>(VERIFIERS)
        return new Map(rows.map(({ name, verifier }) => [name, verifier]))
      }),

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
